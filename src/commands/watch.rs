//! `teamkeep watch [RUN]`: the board of a run on the whole terminal, and the thread that reads the run for it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use ratatui_crossterm::crossterm::event::{KeyCode, KeyModifiers};

use super::catalog::{self, catalog, observe};
use crate::status::alive;
use crate::view::size;
use crate::watch::{
    Input, Lists, Outcome, Playback, Player, Recording, Screen, Speed, WatchState, draw, draw_waiting,
    is_quit,
};
use teamkeep_history::timeline::{Fingerprint, OpenedRun, RunCatalog, is_client_gone};
use teamkeep_model::words::FEW;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::log::Segment;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::Stamp;
use teamkeep_system::os::terminal::stop_group;
use teamkeep_system::process::TerminalSignal;
use teamkeep_terminal::Context;

/// The interval of drawing while a run is played back.
const FRAME: Duration = Duration::from_millis(50);
/// The interval of updating the clocks of a running team.
const TICK: Duration = Duration::from_secs(1);
/// A run that does not change needs no updates.
const NO_TICK: Duration = Duration::from_secs(3_600);

#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Examples:
  teamkeep watch
  teamkeep watch parser-team --speed 10x

Press ? for the keys.")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`. Default: the running team that started last, else the last run
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Play the run from its start at a multiple of real time: `10x`, `0.5x`, `max`. Gaps without activity are shortened to
    /// 2 s
    #[arg(long, value_name = "SPEED", value_parser = Speed::parse)]
    speed: Option<Speed>,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if !context.ui.is_terminal() || !context.ui.is_typed() || context.env.term.as_deref() == Some("dumb") {
        return Err(Error::new("watch needs a terminal")
            .hint("print the state of running teams: teamkeep status")
            .hint("print what happened in a run: teamkeep log"));
    }
    let reader = Reader { context, wanted: args.run.as_deref() };
    let mut state = WatchState::default();
    let (shown, recording) = match reader.first()? {
        Ok((shown, opened, recording)) => {
            catalog::warn_damaged(context, &shown.catalog, &opened);
            recording.data.problems().iter().take(FEW).for_each(|problem| context.ui.warn(problem));
            state = WatchState::of(&recording);
            if let Some(speed) = args.speed {
                state.player = Player { playback: Playback::Playing(recording.start()), speed };
            }
            (Some(shown), Ok(recording))
        }
        Err(empty) => (None, Err(empty)),
    };
    let (sender, events) = channel();
    let (running, stop) = channel();
    let input = sender.clone();
    let screen = Screen::open(move |event| drop(input.send(Event::Input(event))))?;
    let mut board = Board { context, recording, state, screen };
    std::thread::scope(|scope| {
        // Dropping it ends the thread.
        let _running = running;
        scope.spawn(move || reader.follow(shown, &stop, &sender));
        board.show(&events)
    })
}

#[derive(Debug)]
enum Event {
    Input(Input),
    /// The run has changed, or cannot be read.
    Recording(Result<Box<Recording>>),
}

struct Board<'a> {
    context: &'a Context,
    /// The run, or the error as long as nothing is recorded.
    recording: Result<Recording>,
    state: WatchState,
    screen: Screen,
}

impl Board<'_> {
    /// Draws and handles events until the user quits.
    fn show(&mut self, events: &Receiver<Event>) -> Result<ExitCode> {
        let mut last = Instant::now();
        loop {
            let drawn = match &self.recording {
                Ok(recording) => {
                    let moment = recording.moment(self.state.player.playback, self.context.clock.now());
                    self.screen.draw(|frame| draw(frame, recording, &moment, &mut self.state))
                }
                Err(empty) => self.screen.draw(|frame| draw_waiting(frame, empty)),
            };
            if drawn.is_err() {
                // The terminal is gone. Its signal may be late.
                return Ok(ended_by(TerminalSignal::HANGUP));
            }
            let first = events.recv_timeout(self.interval());
            if let Ok(recording) = &self.recording {
                self.state.player.advance(last.elapsed(), &recording.times);
            }
            last = Instant::now();
            for event in first.into_iter().chain(events.try_iter()) {
                if let Some(code) = self.handle(event)? {
                    return Ok(code);
                }
            }
        }
    }

    /// Returns the exit code if the event ends the command.
    fn handle(&mut self, event: Event) -> Result<Option<ExitCode>> {
        match event {
            Event::Recording(new) => self.renew(*new?),
            Event::Input(Input::Signal(TerminalSignal::Resized)) => self.screen.resize()?,
            Event::Input(Input::Signal(TerminalSignal::Stop)) => self.screen.stop()?,
            Event::Input(Input::Signal(signal)) => return Ok(Some(ended_by(signal))),
            // The terminal passes Ctrl-Z as a key. Like the terminal's own signal, it also stops a script that runs this.
            Event::Input(Input::Key(key))
                if key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL =>
            {
                stop_group();
            }
            Event::Input(Input::Mouse(event)) => {
                let Ok(recording) = &self.recording else { return Ok(None) };
                let moment = recording.moment(self.state.player.playback, self.context.clock.now());
                let lists = Lists::of(recording, &moment, &self.state.filter);
                self.state.point(event, recording, &lists);
            }
            Event::Input(Input::Key(key)) => {
                let Ok(recording) = &self.recording else {
                    return Ok(is_quit(key).then_some(ExitCode::SUCCESS));
                };
                let moment = recording.moment(self.state.player.playback, self.context.clock.now());
                let lists = Lists::of(recording, &moment, &self.state.filter);
                if self.state.press(key, recording, &lists, moment.at) == Outcome::Quit {
                    return Ok(Some(ExitCode::SUCCESS));
                }
                if let Some(text) = &self.state.copied {
                    self.screen.copy(text)?;
                }
            }
        }
        Ok(None)
    }

    fn interval(&self) -> Duration {
        match self.state.player.playback {
            Playback::Playing(_) => FRAME,
            Playback::End if self.recording.as_ref().is_ok_and(Recording::is_running) => TICK,
            _ => NO_TICK,
        }
    }

    fn renew(&mut self, new: Recording) {
        if let Ok(before) = &self.recording {
            let is_other = new.data.run.run != before.data.run.run;
            // A new team does not interrupt the look at the past of another one.
            if is_other && self.state.is_in_past() {
                return;
            }
            self.state.renew(before, &new);
        }
        self.recording = Ok(new);
    }
}

/// The exit code of a command that a signal ended, as shells report it.
fn ended_by(signal: TerminalSignal) -> ExitCode {
    match signal {
        TerminalSignal::End(number) => ExitCode::from(u8::try_from(128 + number).unwrap_or(1)),
        _ => ExitCode::SUCCESS,
    }
}

/// The interval for checking the log of a running team.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The interval for checking the other files, and for another team after the run is over.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The shortest interval for judging an unchanged run again: an incident can begin because nothing happens.
const JUDGE_INTERVAL: Duration = Duration::from_secs(10);
/// After each read, the next one waits this many times its duration; this many more if nothing has changed.
const RESTS: u32 = 4;
const IDLE_RESTS: u32 = 200;

#[derive(Debug, Clone, Copy)]
struct Reader<'a> {
    pub context: &'a Context,
    /// The run that the user named.
    pub wanted: Option<&'a str>,
}

/// The last read, and the state of the files then, which shows whether the run has changed.
struct Shown {
    catalog: RunCatalog,
    run: RunRecord,
    is_running: bool,
    segments: Vec<Segment>,
    files: Files,
    read: Instant,
    checked: Instant,
    cost: Duration,
}

/// A run that was read.
type First = (Shown, OpenedRun, Recording);

/// The files of a run, the team's files in Claude Code's directory, and the indexes of all running teams.
type Files = (Fingerprint, Vec<Option<(u64, i64)>>, Vec<(PathBuf, Option<(u64, i64)>)>);

impl Reader<'_> {
    /// Reads the run that the user named, else the running one that started last, else the last one. If nothing is recorded yet
    /// and the user named no run, returns the error that reports that.
    fn first(&self) -> Result<Result<First>> {
        let start = Instant::now();
        let (catalog, run) = self.find()?;
        let Some(run) = run else { return Ok(Err(catalog.empty())) };
        let bytes: u64 = segments(&catalog, &run).iter().map(|segment| segment.size).sum();
        let _progress = self.context.ui.progress(&format!("reading {} of log", size(bytes)), 0);
        self.read(catalog, run, start).map(Ok)
    }

    fn find(&self) -> Result<(RunCatalog, Option<RunRecord>)> {
        let catalog = catalog(self.context)?;
        if self.wanted.is_none() && catalog.runs.is_empty() && catalog.damaged.is_empty() {
            return Ok((catalog, None));
        }
        let run = self.choose(&catalog)?.clone();
        Ok((catalog, Some(run)))
    }

    fn choose<'c>(&self, catalog: &'c RunCatalog) -> Result<&'c RunRecord> {
        match (self.wanted, alive(catalog).last()) {
            (None, Some(last)) => Ok(last),
            (wanted, _) => catalog::find(catalog, wanted.unwrap_or("latest")),
        }
    }

    fn read(&self, catalog: RunCatalog, run: RunRecord, start: Instant) -> Result<First> {
        // Before the read: what arrives meanwhile is a change.
        let (segments, files) = (segments(&catalog, &run), self.files(&catalog, &run));
        let mut opened = catalog.open_runs(&[&run])?;
        let Some(data) = opened.runs.pop() else { return Err(Error::not_found("cannot open the run")) };
        let observed = observe(self.context, &catalog, &data);
        let others = alive(&catalog).iter().filter(|other| other.run != run.run).count();
        let recording = Recording::new(data, observed, others);
        let shown = Shown {
            is_running: recording.is_running(),
            catalog,
            run,
            segments,
            files,
            read: Instant::now(),
            checked: Instant::now(),
            cost: start.elapsed(),
        };
        Ok((shown, opened, recording))
    }

    /// Reads the run again when it has changed, until it is over; and another one, if it starts and none was named.
    /// Waits for the first run if there is none. Ends when the sender of `stop` is dropped.
    fn follow(&self, mut shown: Option<Shown>, stop: &Receiver<()>, events: &Sender<Event>) {
        let interval = |shown: &Option<Shown>| if shown.is_some() { POLL_INTERVAL } else { CHECK_INTERVAL };
        while stop.recv_timeout(interval(&shown)) == Err(RecvTimeoutError::Timeout) {
            let new = match &mut shown {
                Some(shown) => self.next(shown),
                None => self.awaited(&mut shown),
            };
            if let Some(new) = new.transpose() {
                let _ = events.send(Event::Recording(new.map(Box::new)));
            }
        }
    }

    /// The first run, once there is one. The board is on the screen, so no progress is shown.
    fn awaited(&self, shown: &mut Option<Shown>) -> Result<Option<Recording>> {
        let start = Instant::now();
        let (catalog, Some(run)) = self.find()? else { return Ok(None) };
        let (new, _, recording) = self.read(catalog, run, start)?;
        *shown = Some(new);
        Ok(Some(recording))
    }

    /// Reads the run, or the next one, if that is due.
    fn next(&self, shown: &mut Shown) -> Result<Option<Recording>> {
        let rested = shown.read.elapsed();
        let may_be_other = shown.is_running || self.wanted.is_none();
        let is_checked = shown.checked.elapsed() >= CHECK_INTERVAL;
        // A crash changes no file.
        let is_gone = is_checked && shown.is_running && is_client_gone(&shown.catalog.archive, &shown.run);
        if !may_be_other || (rested < shown.cost * RESTS && !is_gone) {
            return Ok(None);
        }
        let has_new_lines = shown.is_running && segments(&shown.catalog, &shown.run) != shown.segments;
        if !has_new_lines && !is_checked {
            return Ok(None);
        }
        shown.checked = Instant::now();
        let files = self.files(&shown.catalog, &shown.run);
        let is_judged_again = shown.is_running && rested >= JUDGE_INTERVAL.max(shown.cost * IDLE_RESTS);
        if files == shown.files && !is_judged_again && !is_gone {
            return Ok(None);
        }
        let start = Instant::now();
        let catalog = catalog(self.context)?;
        let run = if shown.is_running { catalog.find(&shown.run.run)? } else { self.choose(&catalog)? };
        if !shown.is_running && run.run == shown.run.run {
            shown.files = files;
            return Ok(None);
        }
        let run = run.clone();
        let (new, _, recording) = self.read(catalog, run, start)?;
        *shown = new;
        Ok(Some(recording))
    }

    fn files(&self, catalog: &RunCatalog, run: &RunRecord) -> Files {
        let index = run.subject().and_then(|subject| catalog.archive.index(&subject));
        let client = run.client_dir(self.context.paths.client.as_deref());
        let stamp = |path: &Path| {
            let stamp = Stamp::of(&path.symlink_metadata().ok()?);
            Some((stamp.size, stamp.modified))
        };
        let paths = index.iter().flat_map(|index| index.files.keys());
        let files = paths.map(|path| stamp(&client.as_ref()?.join(path))).collect();
        let indexes = catalog.archive.index_files().into_iter();
        let indexes = indexes.map(|path| (path.clone(), stamp(&path))).collect();
        (catalog.fingerprint(run), files, indexes)
    }
}

/// The segments of the run's log, whose sizes show new events.
fn segments(catalog: &RunCatalog, run: &RunRecord) -> Vec<Segment> {
    catalog.logs.run(&run.run).and_then(|log| log.segments().ok()).unwrap_or_default()
}
