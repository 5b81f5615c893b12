//! Which keys hold no text: who, which, when, in what state.

/// Keys whose strings stay, in a payload, in a team's tool and in a team's file.
const KEPT: &[&str] = &[
    "addBlockedBy",
    "addBlocks",
    "agentId",
    "agentType",
    "agent_id",
    "agent_type",
    "assignedBy",
    "backendType",
    "blockedBy",
    "blocks",
    "color",
    "completedStatus",
    "completedTaskId",
    "created_at",
    "event",
    "from",
    "hook_event_name",
    "id",
    "idleReason",
    "leadAgentId",
    "leadSessionId",
    "lead_agent_id",
    "level",
    "mode",
    "model",
    "msg_id",
    "name",
    "notification_type",
    "owner",
    "paneId",
    "permissionMode",
    "permission_mode",
    "pidSpace",
    "procStart",
    "prompt_id",
    "recipient",
    "recipient_kind",
    "requestId",
    "request_id",
    "resolvedModel",
    "sender",
    "senderColor",
    "session_id",
    "source",
    "spawnedAgentType",
    "status",
    "subagent_type",
    "target",
    "targetColor",
    "taskId",
    "taskKind",
    "task_id",
    "teamName",
    "team_name",
    "teammate_id",
    "teammate_name",
    "timestamp",
    "tmuxPaneId",
    "tmux_pane_id",
    "tmux_session_name",
    "tmux_window_name",
    "to",
    "toolUseId",
    "tool_name",
    "tool_use_id",
    "trigger",
    "type",
    "updatedFields",
];

/// Keys of paths that the record is held together by.
const PATHS: &[&str] = &["agent_transcript_path", "cwd", "transcript_path"];

/// Tools that lead a team: what they are told is who, which and in what state, beside texts.
const TEAM_TOOLS: &[&str] = &[
    "Agent",
    "SendMessage",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
];

/// The client's notices, which it writes as JSON into a message's text.
const NOTICES: &[&str] = &[
    "idle_notification",
    "permission_request",
    "permission_response",
    "plan_approval_request",
    "plan_approval_response",
    "shutdown_approved",
    "shutdown_rejected",
    "shutdown_request",
    "shutdown_response",
    "task_assignment",
    "task_completed",
    "teammate_terminated",
];

/// The longest that a name, an id or a state is.
const LONGEST: usize = 200;
/// The longest that a path is.
const LONGEST_PATH: usize = 4_096;

/// Whether the string of a key stays.
pub(super) fn stays(key: &str, text: &str) -> bool {
    let most = if PATHS.contains(&key) { LONGEST_PATH } else { LONGEST };
    let known = KEPT.contains(&key) || PATHS.contains(&key);
    text.is_empty() || (known && text.len() <= most && !text.contains(['\n', '\r']))
}

/// Whether a string at the top of a payload stays that elsewhere would be a text.
pub(super) fn stays_at_top(key: &str, event: &str) -> bool {
    match key {
        "file_path" => event == "FileChanged",
        "reason" => event == "SessionEnd",
        _ => false,
    }
}

/// Whether a tool leads a team.
pub(super) fn is_team_tool(tool: &str) -> bool {
    TEAM_TOOLS.contains(&tool)
}

/// Whether this is the kind of a notice.
pub(super) fn is_notice(kind: &str) -> bool {
    NOTICES.contains(&kind)
}

/// Whether a file is one short word: a counter, the name of a list.
pub(super) fn is_word(bytes: &[u8]) -> bool {
    let trimmed = bytes.trim_ascii();
    trimmed.len() <= LONGEST
        && trimmed.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}
