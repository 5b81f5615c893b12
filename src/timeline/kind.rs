//! The kinds of entries, as users name them.

use serde::Serialize;

use crate::error::Result;
use crate::json;
use crate::suggest::unknown;

/// The kind of an entry. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A session started, or was resumed or cleared.
    SessionStarted,
    /// The team's directory appeared.
    TeamCreated,
    /// An agent joined the team.
    MemberJoined,
    /// A task was created.
    TaskCreated,
    /// A task existed when the run began.
    TaskFound,
    /// A task's status, owner or subject changed.
    TaskChanged,
    /// A task's status became `completed`.
    TaskCompleted,
    /// An agent deleted a task.
    TaskDeleted,
    /// Claude Code removed a task's file.
    TaskErased,
    /// An agent's turn started.
    TurnStarted,
    /// An agent sent a message to another.
    Message,
    /// A message was blocked by a hook or rejected by Claude Code.
    MessageRefused,
    /// An agent was asked to shut down.
    ShutdownRequested,
    /// An agent approved its shutdown.
    ShutdownApproved,
    /// An agent rejected its shutdown.
    ShutdownRejected,
    /// An agent's turn ended.
    TurnEnded,
    /// A teammate went idle.
    Idle,
    /// An agent left the team.
    MemberLeft,
    /// A session ended.
    SessionEnded,
    /// The team's directory disappeared.
    TeamErased,
    /// The policy blocked, warned or allowed by exception.
    Verdict,
}

impl Kind {
    /// All kinds.
    pub const ALL: &[Kind] = &[
        Kind::SessionStarted,
        Kind::TeamCreated,
        Kind::MemberJoined,
        Kind::TaskCreated,
        Kind::TaskFound,
        Kind::TaskChanged,
        Kind::TaskCompleted,
        Kind::TaskDeleted,
        Kind::TaskErased,
        Kind::TurnStarted,
        Kind::Message,
        Kind::MessageRefused,
        Kind::ShutdownRequested,
        Kind::ShutdownApproved,
        Kind::ShutdownRejected,
        Kind::TurnEnded,
        Kind::Idle,
        Kind::MemberLeft,
        Kind::SessionEnded,
        Kind::TeamErased,
        Kind::Verdict,
    ];

    /// The kind's word: `task-changed`.
    pub fn word(self) -> String {
        json::serde_name(&self)
    }

    /// Parses a kind from the command line.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn parse(text: &str) -> Result<Kind> {
        let plain = text.to_lowercase().replace('_', "-");
        if let Some(kind) = Kind::ALL.iter().find(|kind| kind.word() == plain) {
            return Ok(*kind);
        }
        let words: Vec<String> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Err(unknown("kind", text, &words).of_usage())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_written_and_a_slip_is_told() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(&kind.word()).unwrap(), *kind);
        }
        assert_eq!(Kind::parse("Task_Changed").unwrap(), Kind::TaskChanged);
        assert_eq!(Kind::parse("mesage").unwrap_err().hints, ["did you mean \"message\"?"]);
        assert!(Kind::parse("moon").unwrap_err().hints[0].starts_with("known kinds: session-started, "));
    }
}
