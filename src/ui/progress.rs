//! A progress line on stderr. It is erased at the end.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::escape;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The progress line. In a pipe it is not shown.
#[derive(Debug)]
pub struct Progress {
    what: String,
    total: u64,
    done: u64,
    shown: Option<Instant>,
    begun: Option<Instant>,
}

impl Progress {
    /// A line for `total` bytes of work, or 0 if that is unknown. `visible` is whether stderr is a terminal.
    pub(super) fn new(what: &str, total: u64, visible: bool) -> Progress {
        let begun = visible.then(Instant::now);
        Progress { what: escape(what).into_owned(), total, done: 0, shown: None, begun }
    }

    pub fn add(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        let Some(begun) = self.begun else { return };
        // Short work needs no line.
        if self.shown.unwrap_or(begun).elapsed() < POLL_INTERVAL {
            return;
        }
        self.shown = Some(Instant::now());
        let _ = write!(io::stderr(), "\r\x1b[K{}", self.line());
        let _ = io::stderr().flush();
    }

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
    fn the_percentage_is_never_more_than_100() {
        let mut progress = Progress::new("verifying\n", 4 << 20, false);
        progress.add(1 << 20);
        assert_eq!(progress.line(), "verifying\\n: 25 % of 4.0 MiB");
        progress.add(9 << 20);
        assert_eq!(progress.line(), "verifying\\n: 100 % of 4.0 MiB");
        assert!(progress.shown.is_none(), "stderr is not a terminal");
    }
}
