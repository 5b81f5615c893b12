//! The events that this version of teamkeep knows, in both spellings.

/// A hook event of Claude Code. Those from `Notification` on need a hook only if a rule names them. WorktreeCreate and
/// MessageDisplay are missing, because a hook for them replaces an action of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    PermissionRequest,
    Notification,
    PostToolUseFailure,
    PostToolBatch,
    PermissionDenied,
    UserPromptExpansion,
    PostCompact,
    PreModelSwitch,
    PostModelSwitch,
    Setup,
    Elicitation,
    ElicitationResult,
    ConfigChange,
    InstructionsLoaded,
    CwdChanged,
    DirectoryAdded,
    WorktreeRemove,
    /// An event that this version does not know: recorded and allowed.
    Unknown,
}

/// All known events: Claude Code's spelling and the subcommand's.
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
    (Kind::PermissionRequest, "PermissionRequest", "permission-request"),
    (Kind::Notification, "Notification", "notification"),
    (Kind::PostToolUseFailure, "PostToolUseFailure", "post-tool-use-failure"),
    (Kind::PostToolBatch, "PostToolBatch", "post-tool-batch"),
    (Kind::PermissionDenied, "PermissionDenied", "permission-denied"),
    (Kind::UserPromptExpansion, "UserPromptExpansion", "user-prompt-expansion"),
    (Kind::PostCompact, "PostCompact", "post-compact"),
    (Kind::PreModelSwitch, "PreModelSwitch", "pre-model-switch"),
    (Kind::PostModelSwitch, "PostModelSwitch", "post-model-switch"),
    (Kind::Setup, "Setup", "setup"),
    (Kind::Elicitation, "Elicitation", "elicitation"),
    (Kind::ElicitationResult, "ElicitationResult", "elicitation-result"),
    (Kind::ConfigChange, "ConfigChange", "config-change"),
    (Kind::InstructionsLoaded, "InstructionsLoaded", "instructions-loaded"),
    (Kind::CwdChanged, "CwdChanged", "cwd-changed"),
    (Kind::DirectoryAdded, "DirectoryAdded", "directory-added"),
    (Kind::WorktreeRemove, "WorktreeRemove", "worktree-remove"),
];

/// Events at which a hook can block Claude Code's action.
pub const JUDGED: &[Kind] = &[
    Kind::PreToolUse,
    Kind::TeammateIdle,
    Kind::TaskCreated,
    Kind::TaskCompleted,
    Kind::SubagentStop,
    Kind::Stop,
];

impl Kind {
    pub fn is_judged(self) -> bool {
        JUDGED.contains(&self)
    }

    pub fn is_for_rules(self) -> bool {
        (Kind::Notification..Kind::Unknown).contains(&self)
    }

    pub fn has_tool(self) -> bool {
        use Kind::{PermissionDenied, PermissionRequest, PostToolUse, PostToolUseFailure, PreToolUse};
        matches!(self, PreToolUse | PostToolUse | PostToolUseFailure | PermissionRequest | PermissionDenied)
    }

    /// The event with this name, in Claude Code's spelling or the subcommand's.
    pub fn named(name: &str) -> Kind {
        KNOWN
            .iter()
            .find(|(_, client, command)| *client == name || *command == name)
            .map_or(Kind::Unknown, |row| row.0)
    }

    pub fn name(self) -> &'static str {
        KNOWN.iter().find(|row| row.0 == self).map_or("Unknown", |row| row.1)
    }
}
