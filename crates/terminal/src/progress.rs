//! The progress of work that takes longer than a moment, as a line on stderr. It is only shown on a terminal.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use teamkeep_model::unicode::escape;

/// Shorter work needs no line.
const DELAY: Duration = Duration::from_millis(300);
const TICK: Duration = Duration::from_millis(120);

/// The line is removed when this is dropped.
#[derive(Debug, Default)]
pub struct Progress {
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    bar: ProgressBar,
    /// Dropping it ends the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// The progress of `total` bytes of work, or 0 if that is unknown.
    pub(super) fn new(is_quiet: bool, what: &str, total: u64) -> Progress {
        if is_quiet || !io::stderr().is_terminal() {
            return Progress::default();
        }
        let bar = bar(what, total);
        let (running, ended) = channel::<()>();
        let later = bar.clone();
        let thread = std::thread::Builder::new().spawn(move || {
            if ended.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(TICK);
            }
        });
        // Without a thread, nothing is shown.
        Progress { shown: Some(Shown { bar, running: Some(running), thread: thread.ok() }) }
    }

    pub fn add(&mut self, bytes: u64) {
        self.shown.iter().for_each(|shown| shown.bar.inc(bytes));
    }
}

fn bar(what: &str, total: u64) -> ProgressBar {
    let (length, template) = match total {
        0 => (None, "{spinner} {msg}: {elapsed}"),
        _ => (Some(total), "{spinner} {msg}: {percent} % of {binary_total_bytes} [{bar:20}]"),
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(escape(what).into_owned())
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.running = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_command_shows_no_progress() {
        assert!(Progress::new(true, "verifying", 4 << 20).shown.is_none());
    }

    #[test]
    fn work_beyond_its_total_stays_at_its_end() {
        let bar = bar("verifying\n", 4 << 20);
        bar.inc(9 << 20);
        assert_eq!((bar.length(), bar.message().as_str()), (Some(4 << 20), "verifying\\n"));
        assert_eq!(super::bar("reading", 0).length(), None);
    }
}
