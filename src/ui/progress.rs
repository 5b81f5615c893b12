//! How far a long work is: one line at stderr that is written over, and gone when the work is.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::escape;

/// How often the line is written at most.
const PAUSE: Duration = Duration::from_millis(100);

/// The line. In a pipe there is none.
#[derive(Debug)]
pub struct Progress {
    what: String,
    total: u64,
    done: u64,
    shown: Option<Instant>,
    begun: Option<Instant>,
}

impl Progress {
    /// A line about a work of so many bytes. `visible` says whether a person reads it.
    pub(super) fn new(what: &str, total: u64, visible: bool) -> Progress {
        let begun = visible.then(Instant::now);
        Progress { what: escape(what).into_owned(), total, done: 0, shown: None, begun }
    }

    /// So many more bytes are done.
    pub fn add(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        let Some(begun) = self.begun else { return };
        // What is over at once needs no line.
        if self.shown.unwrap_or(begun).elapsed() < PAUSE {
            return;
        }
        self.shown = Some(Instant::now());
        let _ = write!(io::stderr(), "\r\x1b[K{}", self.line());
        let _ = io::stderr().flush();
    }

    /// What it says.
    fn line(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        match self.total {
            0 => format!("{}: {:.1} MiB", self.what, mib(self.done)),
            total => {
                let percent = self.done.min(total).saturating_mul(100) / total;
                format!("{}: {percent} % of {:.1} MiB", self.what, mib(total))
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
            let _ = io::stderr().flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_much_of_how_much_and_never_more_than_all() {
        let mut progress = Progress::new("verifying\n", 4 << 20, false);
        progress.add(1 << 20);
        assert_eq!(progress.line(), "verifying\\n: 25 % of 4.0 MiB");
        progress.add(9 << 20);
        assert_eq!(progress.line(), "verifying\\n: 100 % of 4.0 MiB");
        assert!(progress.shown.is_none(), "nobody looks");
    }
}
