//! `teamkeep status --watch`: how the teams stand, drawn anew as it changes.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::look;
use crate::commands::reading;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::log::{self, Segment};
use crate::render;
use crate::status::Status;
use crate::ui;
use crate::ui::screen::{Came, Screen};

/// How often the log is looked at, and the clocks go on.
const FRAME: Duration = Duration::from_millis(250);
/// How often all is read though the log has nothing new: mail, pauses and a client that is gone stand elsewhere.
const CHECKS: Duration = Duration::from_secs(2);
/// No more than a part of the time is spent reading: after reading for so long, so many times as long is waited.
const RESTS: u32 = 4;

const KEYS: &str = "q ends";
/// The signal of Ctrl-C, which is how a watch ends.
const INTERRUPT: i32 = 2;

/// Draws until the user has seen enough.
///
/// # Errors
/// When there is no terminal, or the record cannot be read.
pub fn watch(context: &Context) -> Result<ExitCode> {
    if !context.ui.is_terminal() || context.env.term.as_deref() == Some("dumb") {
        return Err(Error::usage("--watch draws on a terminal, and there is none")
            .hint("without it the status is told once; with --json for programs"));
    }
    let mut known = Known::read(context)?;
    let mut screen = Screen::open()?;
    let end = loop {
        let (columns, rows) = screen.size();
        let keys = if screen.is_typed() { KEYS } else { "" };
        screen.draw(&render::status_screen(&known.status, context.clock.now(), keys, columns, rows))?;
        match screen.wait(FRAME)? {
            Came::Key(b'q' | 3 | 4) => break ExitCode::SUCCESS,
            Came::End(INTERRUPT) => break ExitCode::SUCCESS,
            Came::End(signal) => break ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
            Came::Key(_) | Came::Change | Came::Nothing => {}
        }
        if known.is_due(context) {
            known = Known::read(context)?;
        }
    };
    drop(screen);
    // What was on the screen at the end stays below the prompt.
    let mut out = context.ui.out();
    let last = render::status(&known.status, context.clock.now(), context.ui.columns());
    ui::quiet(out.write_all(last.as_bytes()).and_then(|()| out.flush()))?;
    Ok(end)
}

/// How things stood when they were last read.
struct Known {
    status: Status,
    /// The log as it was then.
    segments: Vec<Segment>,
    read: Instant,
    cost: Duration,
}

impl Known {
    fn read(context: &Context) -> Result<Known> {
        let start = Instant::now();
        // Before it is read: what comes while it is read is a change.
        let segments = log::list(&context.paths.log()).unwrap_or_default();
        let library = reading::library(context)?;
        let (_, status) = look(context, &library)?;
        Ok(Known { status, segments, read: Instant::now(), cost: start.elapsed() })
    }

    fn is_due(&self, context: &Context) -> bool {
        let rested = self.read.elapsed();
        let is_new = || log::list(&context.paths.log()).unwrap_or_default() != self.segments;
        rested >= self.cost * RESTS && (rested >= CHECKS || is_new())
    }
}
