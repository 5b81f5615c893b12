//! `teamkeep watch [RUN]`: the board of a run on the whole terminal.

mod reader;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ratatui_crossterm::crossterm::event::{KeyCode, KeyModifiers};

use super::catalog;
use crate::watch::{
    Input, Lists, Outcome, Playback, Player, Recording, Screen, Speed, WatchState, draw, draw_waiting,
    is_quit,
};
use reader::Reader;
use teamkeep_model::words::FEW;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::os::terminal::stop_group;
use teamkeep_system::signals::TerminalSignal;
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
            catalog::warn_damaged(context, shown.catalog(), &opened);
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
