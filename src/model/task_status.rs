//! The status of a task.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The status of a task, as Claude Code writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskStatus {
    /// `pending`
    Pending,
    /// `in_progress`
    InProgress,
    /// `completed`
    Completed,
    /// `deleted`: an agent deleted the task.
    Deleted,
    /// A status that this version does not know.
    Other(Box<str>),
}

impl TaskStatus {
    /// Claude Code's spelling.
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

    /// Whether no work is left.
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
