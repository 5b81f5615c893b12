//! The event logs: one JSON line a hook call, in the log of its run, or of its session as long as that has no run. [`Logs`] are those of
//! a store.
//!
//! Each line commits to the one before it in its log: see [`crate::chain`].

mod lines;
mod seal;
mod segments;
mod writer;

pub use lines::{CUT_OFF, Line, LineError, Lines, Parsed, Position, Raw, VERSION, parse, parse_record, tail};
pub use seal::{Link, MAX_MARK_BYTES, Mark, Sealed};
pub use segments::{Segment, SegmentName};
pub use writer::{Appended, Appending};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use teamkeep_model::event::SafeName;
use teamkeep_system::fs;
use teamkeep_system::paths::Paths;

/// The log of calls that name no session has this name in the place of one.
pub const NO_SESSION: &str = "no-session";

/// The logs of a store: one in the directory of each run, and one for each session that had no run when it made a call.
#[derive(Debug, Clone)]
pub struct Logs {
    runs: PathBuf,
    sessions: PathBuf,
}

impl Logs {
    pub fn of(paths: &Paths) -> Logs {
        Logs { runs: paths.runs(), sessions: paths.sessions() }
    }

    /// The log of a run; `None` if its ID is not valid.
    pub fn run(&self, run: &str) -> Option<EventLog> {
        let name = SafeName::new(run)?;
        Some(EventLog { dir: self.runs.join(&name), owner: LogOwner::Run(name.to_string()) })
    }

    /// The log of a session without a run.
    pub fn session(&self, session: Option<&SafeName>) -> EventLog {
        let name = session.map_or(NO_SESSION, SafeName::as_str);
        EventLog { dir: self.sessions.join(name), owner: LogOwner::Session(name.to_owned()) }
    }

    /// The log that a call writes to.
    pub fn of_call(&self, run: Option<&str>, session: Option<&SafeName>) -> EventLog {
        run.and_then(|run| self.run(run)).unwrap_or_else(|| self.session(session))
    }

    /// The logs with lines of a run: its own, and those of its sessions.
    pub fn with_sessions<'a>(&self, run: &str, sessions: impl Iterator<Item = &'a str>) -> Vec<EventLog> {
        let sessions: BTreeSet<SafeName> = sessions.filter_map(SafeName::stem).collect();
        self.run(run).into_iter().chain(sessions.iter().map(|session| self.session(Some(session)))).collect()
    }

    /// The logs of all sessions.
    pub fn of_sessions(&self) -> io::Result<Vec<EventLog>> {
        let names = directories(&self.sessions)?;
        Ok(names.iter().map(|name| self.session(Some(name))).collect())
    }

    /// All logs.
    ///
    /// # Errors
    /// When a directory with logs cannot be listed.
    pub fn all(&self) -> io::Result<Vec<EventLog>> {
        let runs = directories(&self.runs)?;
        let mut all: Vec<EventLog> = runs.iter().filter_map(|run| self.run(run.as_str())).collect();
        all.extend(self.of_sessions()?);
        Ok(all)
    }

    /// The segments of all logs, as far as they can be listed.
    pub fn segments(&self) -> Vec<Segment> {
        let all = self.all().unwrap_or_default();
        all.iter().flat_map(|log| log.segments().unwrap_or_default()).collect()
    }
}

/// The names of the directories in a directory, sorted; none if it is missing.
fn directories(dir: &Path) -> io::Result<Vec<SafeName>> {
    let listed = fs::list(dir)?.into_iter();
    let dirs = listed.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<SafeName> = dirs.filter_map(|dir| SafeName::new(dir.file_name().to_str()?)).collect();
    names.sort();
    Ok(names)
}

/// The log of a run, or of a session as long as it has no run. Any number of processes may append at once.
///
/// Its lines are in `events.jsonl`, and before that in closed segments. `events.lock` is its lock, and has the head: the newest
/// line and the size of `events.jsonl` after it. A line is written before the head. If its writer is killed in between, that size
/// is not right, and the next writer reads the last line itself. A segment is closed by renaming it after its last line. If its
/// writer is killed after that, the next one finds an `events.jsonl` that is missing, and the same last line in the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLog {
    pub owner: LogOwner,
    dir: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogOwner {
    Run(String),
    /// Lines without a session are in the log of [`NO_SESSION`].
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
