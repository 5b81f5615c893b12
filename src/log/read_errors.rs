//! Unreadable lines and segments: their number, and the first few.

use std::fmt;
use std::path::PathBuf;

/// How many are kept word for word.
const MAX_KEPT: usize = 5;

/// Lines and segments that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadErrors {
    /// How many there are.
    pub count: u64,
    /// The first few.
    pub first: Vec<ReadError>,
}

/// One line or segment that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The segment.
    pub path: PathBuf,
    /// The line, from 1; `None` for the segment as a whole.
    pub line: Option<u64>,
    /// Why.
    pub why: String,
}

impl ReadErrors {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, problem: ReadError) {
        self.count += 1;
        if self.first.len() < MAX_KEPT {
            self.first.push(problem);
        }
    }

    /// Takes over those of another reading.
    pub fn merge(&mut self, other: ReadErrors) {
        let room = MAX_KEPT.saturating_sub(self.first.len());
        self.count += other.count;
        self.first.extend(other.first.into_iter().take(room));
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => {
                write!(out, "{}:{line}: {}; the line is passed over", self.path.display(), self.why)
            }
            // The cause contains the path.
            None => write!(out, "{}; the segment is passed over: look at its permissions", self.why),
        }
    }
}
