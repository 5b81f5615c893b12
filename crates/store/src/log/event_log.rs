//! A log: whose it is, and where.

use std::fmt;
use std::path::{Path, PathBuf};

/// The log of a run, or of a session as long as it has no run. Any number of processes may append at once.
///
/// Its lines are in `events.jsonl`, and before that in closed segments. `events.lock` is its lock, and has the head: the newest
/// line and the size of `events.jsonl` after it. A line is written before the head. If its writer is killed in between, that size
/// is not right, and the next writer reads the last line itself. A segment is closed by renaming it after its last line. If its
/// writer is killed after that, the next one finds an `events.jsonl` that is missing, and the same last line in the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLog {
    pub owner: LogOwner,
    pub(super) dir: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogOwner {
    Run(String),
    /// Lines without a session are in the log of [`super::NO_SESSION`].
    Session(String),
}

impl fmt::Display for LogOwner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogOwner::Run(run) => out.write_str(run),
            LogOwner::Session(session) => write!(out, "session-{session}"),
        }
    }
}

impl EventLog {
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}
