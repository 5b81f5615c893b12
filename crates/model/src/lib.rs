//! The formats of Claude Code and the types that all programs share: payloads, the files of teams, tasks, ids, times. This crate
//! reads no file and no clock. [`compat`] has what only some versions of Claude Code need.

#![warn(unreachable_pub)]

/// Defines an enum without data. Each variant has a stable name, which is also its name in JSON.
#[macro_export]
macro_rules! named_enum {
    ($(#[$about:meta])* pub enum $Enum:ident { $($(#[$attribute:meta])* $Variant:ident = $name:literal,)+ }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        $(#[$about])*
        pub enum $Enum { $($(#[$attribute])* #[serde(rename = $name)] $Variant,)+ }

        impl $Enum {
            /// All of them, in this order.
            pub const ALL: [$Enum; $Enum::NAMES.len()] = [$($Enum::$Variant),+];

            pub const NAMES: &[&str] = &[$($name),+];

            pub const fn name(self) -> &'static str {
                match self { $($Enum::$Variant => $name,)+ }
            }

            /// The one with this name.
            pub fn named(name: &str) -> Option<$Enum> {
                $Enum::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}

pub mod compat;
pub mod event;
pub mod json;
pub mod paths;
pub mod payload;
pub mod team;
pub mod time;
pub mod unicode;
pub mod words;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use event::TraceParent;

/// A process, as recorded to recognize later whether it still runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    /// Its namespace: `host#pid:[4026531836]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// When it started, in ticks since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskStatus {
    Pending,
    InProgress,
    Completed,
    Deleted,
    /// A status that this version does not know.
    Other(Box<str>),
}

impl TaskStatus {
    pub fn as_str(&self) -> &str {
        match self {
            TaskStatus::Pending => "pending",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Completed => "completed",
            TaskStatus::Deleted => "deleted",
            TaskStatus::Other(word) => word,
        }
    }

    /// The status of a task whose file has none.
    pub fn unknown() -> TaskStatus {
        TaskStatus::Other("unknown".into())
    }

    pub fn is_done(&self) -> bool {
        matches!(self, TaskStatus::Completed | TaskStatus::Deleted)
    }
}

impl From<&str> for TaskStatus {
    fn from(word: &str) -> TaskStatus {
        match word {
            "pending" => TaskStatus::Pending,
            "in_progress" => TaskStatus::InProgress,
            "completed" => TaskStatus::Completed,
            "deleted" => TaskStatus::Deleted,
            other => TaskStatus::Other(other.into()),
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl Serialize for TaskStatus {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TaskStatus {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<TaskStatus, D::Error> {
        Ok(String::deserialize(input)?.as_str().into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Starts a teammate or a subagent: `Agent`, before 2.1.63 `Task`.
    Agent,
    Bash,
    /// Changes a file: `Edit`, `MultiEdit`, `Write` or `NotebookEdit`.
    Edit,
    /// Leaves a worktree, and may remove it.
    ExitWorktree,
    Read,
    SendMessage,
    TaskCreate,
    TaskStop,
    TaskUpdate,
    TeamCreate,
    TeamDelete,
    Other,
}

impl Tool {
    pub fn named(name: &str) -> Tool {
        match name {
            "Agent" | "Task" => Tool::Agent,
            "Bash" => Tool::Bash,
            "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => Tool::Edit,
            "ExitWorktree" => Tool::ExitWorktree,
            "Read" => Tool::Read,
            "SendMessage" => Tool::SendMessage,
            "TaskCreate" => Tool::TaskCreate,
            "TaskStop" => Tool::TaskStop,
            "TaskUpdate" => Tool::TaskUpdate,
            "TeamCreate" => Tool::TeamCreate,
            "TeamDelete" => Tool::TeamDelete,
            _ => Tool::Other,
        }
    }

    /// Whether it manages a team: its input has names, ids and states besides texts.
    pub fn manages_teams(self) -> bool {
        !matches!(self, Tool::Bash | Tool::Edit | Tool::ExitWorktree | Tool::Read | Tool::Other)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub severity: Severity,
    pub code: NoteCode,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// A harmless effect of concurrent processes, for the diagnostics only.
    Contention,
    /// An oddity of the payload, which the log has with the event.
    Payload,
    /// An oddity or a failure that loses nothing.
    Problem,
    /// Data on disk could not be archived.
    Loss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteCode {
    /// The store failed.
    Store,
    /// Files could not be stored although the store works.
    Files {
        count: usize,
        limit: Option<Limit>,
    },
    /// A team may have been overlooked.
    Overlooked {
        limit: Option<Limit>,
    },
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The time limit of one call; the next call continues.
    Time,
    LargestFile,
    LongestLook,
}

impl Note {
    pub fn new(severity: Severity, text: impl Into<String>) -> Note {
        Note { severity, code: NoteCode::Other, text: text.into() }
    }

    pub fn problem(text: impl Into<String>) -> Note {
        Note::new(Severity::Problem, text)
    }

    pub fn store_failure(text: impl Into<String>) -> Note {
        Note { code: NoteCode::Store, ..Note::new(Severity::Loss, text) }
    }

    pub fn unstored(count: usize, limit: Option<Limit>, text: impl Into<String>) -> Note {
        Note { code: NoteCode::Files { count, limit }, ..Note::new(Severity::Loss, text) }
    }

    pub fn overlooked(limit: Option<Limit>, text: impl Into<String>) -> Note {
        Note { code: NoteCode::Overlooked { limit }, ..Note::problem(text) }
    }

    pub fn is_store_failure(&self) -> bool {
        self.code == NoteCode::Store
    }

    pub fn is_overlooked(&self) -> bool {
        matches!(self.code, NoteCode::Overlooked { .. })
    }

    pub fn files(&self) -> usize {
        match self.code {
            NoteCode::Files { count, .. } => count,
            _ => 0,
        }
    }

    pub fn limit(&self) -> Option<Limit> {
        match self.code {
            NoteCode::Files { limit, .. } | NoteCode::Overlooked { limit } => limit,
            _ => None,
        }
    }
}

impl Limit {
    /// The key under `[archive]` that raises it, if there is one.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Limit::Time => None,
            Limit::LargestFile => Some("largest-file"),
            Limit::LongestLook => Some("longest-look"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_written_as_it_was_read() {
        for word in ["pending", "in_progress", "completed", "deleted", "paused", ""] {
            let status: TaskStatus = serde_json::from_value(word.into()).unwrap();
            assert_eq!((status.as_str(), serde_json::to_value(&status).unwrap()), (word, word.into()));
            assert_eq!(status.is_done(), matches!(word, "completed" | "deleted"));
        }
    }
}
