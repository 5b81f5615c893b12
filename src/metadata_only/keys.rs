//! Keys whose strings are not texts: names, ids, states.

/// Keys whose strings are kept, in payloads, in team tools and in team files.
const KEPT_KEYS: &[&str] = &[
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

/// Keys of paths that are kept, because events and files are matched by them.
const PATHS: &[&str] = &["agent_transcript_path", "cwd", "transcript_path"];

/// Tools that manage a team. Their inputs contain names, ids and states besides texts.
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

/// Claude Code's automatic notices, which are JSON in the text of a message.
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

/// Maximum length of a name, an id or a state.
const MAX_CHARS: usize = 200;
/// Maximum length of a path.
const LONGEST_PATH: usize = 4_096;

/// Whether the string of a key is kept.
pub(super) fn is_kept(key: &str, text: &str) -> bool {
    let most = if PATHS.contains(&key) { LONGEST_PATH } else { MAX_CHARS };
    let known = KEPT_KEYS.contains(&key) || PATHS.contains(&key);
    text.is_empty() || (known && text.len() <= most && !text.contains(['\n', '\r']))
}

/// Whether a string on the first level of a payload is kept that would be a text elsewhere.
pub(super) fn is_kept_top_level(key: &str, event: &str) -> bool {
    match key {
        "file_path" => event == "FileChanged",
        "reason" => event == "SessionEnd",
        _ => false,
    }
}

/// Whether a tool manages a team.
pub(super) fn is_team_tool(tool: &str) -> bool {
    TEAM_TOOLS.contains(&tool)
}

/// Whether a notice can have this type.
pub(super) fn is_notice(kind: &str) -> bool {
    NOTICES.contains(&kind)
}

/// Whether a file is a single short word, such as a counter or the name of a list.
pub(super) fn is_identifier(bytes: &[u8]) -> bool {
    let trimmed = bytes.trim_ascii();
    trimmed.len() <= MAX_CHARS
        && trimmed.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}
