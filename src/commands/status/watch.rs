//! `teamkeep status --watch`: the live status.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::read_status;
use crate::commands::read_context;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::log::{self, Segment};
use crate::status::Status;
use crate::ui;
use crate::ui::terminal::{InputEvent, Screen};
use crate::view;

/// The interval for checking the log and updating the clocks.
const FRAME: Duration = Duration::from_millis(250);
/// The interval for reading everything, even if the log is unchanged: messages, pauses and processes are not in the log.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The share of time for reading: after each read, wait this many times its duration.
const RESTS: u32 = 4;

const KEYS: &str = "q to quit";
/// The signal of Ctrl-C, which ends the command.
const INTERRUPT: i32 = 2;

/// Draws until the user quits.
///
/// # Errors
/// There is no terminal, or the store cannot be read.
pub fn watch(context: &Context) -> Result<ExitCode> {
    if !context.ui.is_terminal() || context.env.term.as_deref() == Some("dumb") {
        return Err(
            Error::usage("--watch needs a terminal").hint("omit --watch to print once, or use --json")
        );
    }
    let mut status = LiveStatus::read(context)?;
    let mut screen = Screen::open()?;
    let end = loop {
        let (columns, rows) = screen.size();
        let keys = if screen.is_typed() { KEYS } else { "" };
        screen.draw(&view::status_screen(&status.status, context.clock.now(), keys, columns, rows))?;
        match screen.wait(FRAME)? {
            InputEvent::Key(b'q' | 3 | 4) => break ExitCode::SUCCESS,
            InputEvent::End(INTERRUPT) => break ExitCode::SUCCESS,
            InputEvent::End(signal) => break ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
            InputEvent::Key(_) | InputEvent::Change | InputEvent::Nothing => {}
        }
        if status.is_due(context) {
            status = LiveStatus::read(context)?;
        }
    };
    drop(screen);
    // The last screen stays above the prompt.
    let mut out = context.ui.out();
    let last = view::status(&status.status, context.clock.now()).to_terminal(context.ui.columns());
    ui::quiet(out.write_all(last.as_bytes()).and_then(|()| out.flush()))?;
    Ok(end)
}

/// The status at the last read.
struct LiveStatus {
    status: Status,
    /// The log segments at that time.
    segments: Vec<Segment>,
    read: Instant,
    cost: Duration,
}

impl LiveStatus {
    fn read(context: &Context) -> Result<LiveStatus> {
        let start = Instant::now();
        // Listed before the read: events that arrive during the read count as a change.
        let segments = log::list(&context.paths.log()).unwrap_or_default();
        let library = read_context::library(context)?;
        let (_, status) = read_status(context, &library)?;
        Ok(LiveStatus { status, segments, read: Instant::now(), cost: start.elapsed() })
    }

    fn is_due(&self, context: &Context) -> bool {
        let rested = self.read.elapsed();
        let is_new = || log::list(&context.paths.log()).unwrap_or_default() != self.segments;
        rested >= self.cost * RESTS && (rested >= CHECK_INTERVAL || is_new())
    }
}
