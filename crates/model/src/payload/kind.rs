//! The events that this version of teamkeep knows, in both spellings.

macro_rules! events {
    ($($Event:ident $subcommand:literal,)+) => {
        /// A hook event of Claude Code. Those from `Notification` on need a hook only if a rule names them. WorktreeCreate and
        /// MessageDisplay are missing, because a hook for them replaces an action of Claude Code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($Event,)+
            /// An event that this version does not know: recorded and allowed.
            Unknown,
        }

        /// All known events: Claude Code's spelling and the subcommand's.
        pub const KNOWN: &[(Kind, &str, &str)] = &[$((Kind::$Event, stringify!($Event), $subcommand)),+];
    };
}

events! {
    SubagentStart "subagent-start",
    SubagentStop "subagent-stop",
    TeammateIdle "teammate-idle",
    TaskCompleted "task-completed",
    TaskCreated "task-created",
    PreToolUse "pre-tool-use",
    PostToolUse "post-tool-use",
    SessionStart "session-start",
    SessionEnd "session-end",
    Stop "stop",
    StopFailure "stop-failure",
    UserPromptSubmit "user-prompt-submit",
    PreCompact "pre-compact",
    FileChanged "file-changed",
    PermissionRequest "permission-request",
    PreSkillShellCommand "pre-skill-shell-command",
    Notification "notification",
    PostToolUseFailure "post-tool-use-failure",
    PostToolBatch "post-tool-batch",
    PermissionDenied "permission-denied",
    UserPromptExpansion "user-prompt-expansion",
    PostCompact "post-compact",
    PreModelSwitch "pre-model-switch",
    PostModelSwitch "post-model-switch",
    Setup "setup",
    Elicitation "elicitation",
    ElicitationResult "elicitation-result",
    ConfigChange "config-change",
    InstructionsLoaded "instructions-loaded",
    CwdChanged "cwd-changed",
    DirectoryAdded "directory-added",
    WorktreeRemove "worktree-remove",
}

/// Events at which a hook can block Claude Code's action.
pub const JUDGED: &[Kind] = &[
    Kind::PreToolUse,
    Kind::PreSkillShellCommand,
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
        use Kind::{PermissionDenied, PermissionRequest, PostToolUse, PostToolUseFailure};
        self.is_before_tool()
            || matches!(self, PostToolUse | PostToolUseFailure | PermissionRequest | PermissionDenied)
    }

    /// Whether a tool is about to run. A `!` line of a skill runs in Bash or PowerShell without a PreToolUse hook; since
    /// 2.1.332 it has a PreSkillShellCommand hook with the same `tool_name` and `tool_input`.
    pub fn is_before_tool(self) -> bool {
        matches!(self, Kind::PreToolUse | Kind::PreSkillShellCommand)
    }

    /// Whether a gate or a rule for this event also judges another one.
    pub fn includes(self, other: Kind) -> bool {
        self == other || (self == Kind::PreToolUse && other.is_before_tool())
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
