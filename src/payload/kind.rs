//! The events that this version knows, in both spellings.

/// An event of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the client's own")]
pub enum Kind {
    SubagentStart,
    SubagentStop,
    TeammateIdle,
    TaskCompleted,
    TaskCreated,
    PreToolUse,
    PostToolUse,
    SessionStart,
    SessionEnd,
    Stop,
    StopFailure,
    UserPromptSubmit,
    PreCompact,
    FileChanged,
    Notification,
    /// An event that this version does not know: recorded and let through.
    Unknown,
}

/// Every known event: the client's spelling and the subcommand's.
pub const KNOWN: &[(Kind, &str, &str)] = &[
    (Kind::SubagentStart, "SubagentStart", "subagent-start"),
    (Kind::SubagentStop, "SubagentStop", "subagent-stop"),
    (Kind::TeammateIdle, "TeammateIdle", "teammate-idle"),
    (Kind::TaskCompleted, "TaskCompleted", "task-completed"),
    (Kind::TaskCreated, "TaskCreated", "task-created"),
    (Kind::PreToolUse, "PreToolUse", "pre-tool-use"),
    (Kind::PostToolUse, "PostToolUse", "post-tool-use"),
    (Kind::SessionStart, "SessionStart", "session-start"),
    (Kind::SessionEnd, "SessionEnd", "session-end"),
    (Kind::Stop, "Stop", "stop"),
    (Kind::StopFailure, "StopFailure", "stop-failure"),
    (Kind::UserPromptSubmit, "UserPromptSubmit", "user-prompt-submit"),
    (Kind::PreCompact, "PreCompact", "pre-compact"),
    (Kind::FileChanged, "FileChanged", "file-changed"),
    (Kind::Notification, "Notification", "notification"),
];

/// The events at which the client can be kept from going on: those that a policy may say no to.
pub const JUDGED: &[Kind] = &[
    Kind::PreToolUse,
    Kind::TeammateIdle,
    Kind::TaskCreated,
    Kind::TaskCompleted,
    Kind::SubagentStop,
    Kind::Stop,
];

impl Kind {
    /// Whether the client can be kept from going on here.
    pub fn is_judged(self) -> bool {
        JUDGED.contains(&self)
    }

    /// The event of this name, in the client's spelling or the subcommand's.
    pub fn named(name: &str) -> Kind {
        KNOWN
            .iter()
            .find(|(_, client, command)| *client == name || *command == name)
            .map_or(Kind::Unknown, |row| row.0)
    }

    /// The client's spelling; `Unknown` for an event that this version does not know.
    pub fn name(self) -> &'static str {
        KNOWN.iter().find(|row| row.0 == self).map_or("Unknown", |row| row.1)
    }
}
