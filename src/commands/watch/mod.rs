//! `teamkeep watch [RUN]`: the board of a run on the whole terminal.

mod reader;

use std::io::{self, PipeReader};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::catalog;
use crate::watch::{InputEvent, Screen};
use crate::watch::{Lists, Outcome, Playback, Player, Recording, Speed, WatchState, screen};
use reader::Reader;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

/// The interval of drawing while a run is played back.
const FRAME: Duration = Duration::from_millis(50);
/// The interval of updating the clocks of a running team.
const TICK: Duration = Duration::from_secs(1);
/// A run that does not change needs no updates.
const NO_TICK: Duration = Duration::from_secs(3_600);
/// Number of problems of the recorded data that are printed.
const MAX_PROBLEMS: usize = 5;
/// The signal of Ctrl-C, which ends the command.
const INTERRUPT: i32 = 2;

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
    let progress = context.ui.progress("reading the run", 0);
    let (shown, opened, recording) = reader.first()?;
    drop(progress);
    catalog::warn_damaged(context, shown.catalog(), &opened);
    recording.data.problems().iter().take(MAX_PROBLEMS).for_each(|problem| context.ui.warn(problem));
    let mut state = WatchState::default();
    if let Some(speed) = args.speed {
        state.player = Player { playback: Playback::Playing(recording.start()), speed };
    }
    let (mut wake, waker) = io::pipe()?;
    let (sender, news) = channel();
    let (running, stop) = channel();
    let mut screen = Screen::open()?;
    let mut board = Board { context, recording, state };
    std::thread::scope(|scope| {
        // Dropping it ends the thread.
        let _running = running;
        scope.spawn(move || reader.follow(shown, &stop, &sender, waker));
        board.show(&mut screen, &mut wake, &news)
    })
}

struct Board<'a> {
    context: &'a Context,
    recording: Recording,
    state: WatchState,
}

impl Board<'_> {
    /// Draws and handles events until the user quits.
    fn show(
        &mut self,
        screen: &mut Screen,
        wake: &mut PipeReader,
        news: &Receiver<Result<Recording>>,
    ) -> Result<ExitCode> {
        let mut last = Instant::now();
        loop {
            let moment = self.recording.moment(self.state.player.playback, self.context.clock.now());
            screen.draw(&self::screen(&self.recording, &moment, &mut self.state, screen.size()))?;
            let event = screen.wait(self.interval(), wake)?;
            let elapsed = last.elapsed();
            last = Instant::now();
            self.state.player.advance(elapsed, &self.recording.times);
            match event {
                InputEvent::End(INTERRUPT) => return Ok(ExitCode::SUCCESS),
                InputEvent::End(signal) => {
                    return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)));
                }
                InputEvent::Keys(keys) => {
                    for key in keys {
                        let playback = self.state.player.playback;
                        let moment = self.recording.moment(playback, self.context.clock.now());
                        let lists = Lists::of(&self.recording, &moment, &self.state.filter);
                        if self.state.press(key, &self.recording, &lists, moment.at) == Outcome::Quit {
                            return Ok(ExitCode::SUCCESS);
                        }
                    }
                }
                InputEvent::Change | InputEvent::Nothing => {}
            }
            while let Ok(new) = news.try_recv() {
                self.renew(new?);
            }
        }
    }

    fn interval(&self) -> Duration {
        match self.state.player.playback {
            Playback::Playing(_) => FRAME,
            Playback::End if self.recording.is_running() => TICK,
            _ => NO_TICK,
        }
    }

    fn renew(&mut self, new: Recording) {
        let is_other = new.data.run.run != self.recording.data.run.run;
        // A new team does not interrupt the look at the past of another one.
        if is_other && self.state.player.playback != Playback::End {
            return;
        }
        self.state.renew(&self.recording, &new);
        self.recording = new;
    }
}
