//! Metadata-only mode: replaces texts by their size and hash.
//!
//! Names, ids, states, times, numbers and JSON keys are kept. Every other string becomes a placeholder. Equal texts have
//! equal placeholders, so a message can still be matched between a hook call, an inbox and a later state.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use teamkeep_model::{Tool, json};

/// A longer text is never kept as a name or a path.
const MAX_CHARS: usize = 200;

pub fn digest_placeholder(text: &[u8]) -> String {
    placeholder(text.len() as u64, &blake3::hash(text).to_hex())
}

pub fn placeholder(size: u64, hash: &str) -> String {
    format!("[text: {size} bytes, blake3 {hash}]")
}

/// The size of the text behind a placeholder; `None` if it is not a placeholder.
pub fn byte_len(placeholder: &str) -> Option<usize> {
    let (size, hash) =
        placeholder.strip_prefix("[text: ")?.strip_suffix(']')?.split_once(" bytes, blake3 ")?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    size.parse().ok().filter(|_| is_hash)
}

/// Removes the texts from a payload. A payload that is not a JSON object is replaced as a whole.
pub fn payload(raw: &RawValue) -> Box<RawValue> {
    let Some(mut value) = json::parse_lossy(raw.get().as_bytes()).filter(Value::is_object) else {
        return malformed_payload(raw);
    };
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (tool, event) = (text("tool_name"), text("hook_event_name"));
    reduce(&mut value, Position { key: "", tool: &tool, event: Some(&event), is_known: true });
    to_raw(&value)
}

pub fn malformed_payload(raw: &RawValue) -> Box<RawValue> {
    let whole = json::parse_lossy(raw.get().as_bytes()).unwrap_or_default();
    let text = ["text", "base64"].iter().find_map(|key| whole.get(key)?.as_str()).unwrap_or(raw.get());
    to_raw(&serde_json::json!({"text": digest_placeholder(text.as_bytes())}))
}

fn to_raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_default()
}

/// Removes the texts from a team file. A file that is not JSON is replaced as a whole, unless it is a single short word,
/// such as the counter of a task list.
pub fn file<'a>(path: &str, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    let trimmed = bytes.trim_ascii();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if !path.ends_with(".json") && trimmed.len() <= MAX_CHARS && trimmed.iter().all(is_word) {
        return Cow::Borrowed(bytes);
    }
    let reduced = match json::parse_lossy(bytes) {
        Some(mut value) => {
            reduce(&mut value, Position::FILE);
            value
        }
        None => Value::String(digest_placeholder(bytes)),
    };
    Cow::Owned(reduced.to_string().into_bytes())
}

#[derive(Clone, Copy)]
struct Position<'a> {
    /// The key of the value; for items of a list, the key of the list.
    key: &'a str,
    tool: &'a str,
    /// The event, on the first level of a payload.
    event: Option<&'a str>,
    /// Whether the keys here are Claude Code's, with known meanings.
    is_known: bool,
}

impl<'a> Position<'a> {
    const FILE: Position<'static> = Position { key: "", tool: "", event: None, is_known: true };

    fn below(self, key: &'a str) -> Position<'a> {
        let is_known = match key {
            // Keys in the input and response of other tools have unknown meanings.
            "tool_input" | "tool_response" => self.event.is_none() || is_team_tool(self.tool),
            "metadata" => false,
            _ => true,
        };
        Position { key, is_known: self.is_known && is_known, event: None, ..self }
    }

    /// Whether a string on the first level of a payload is kept that would be a text elsewhere.
    fn is_state(self, key: &str, text: &str) -> bool {
        match (key, self.event) {
            ("file_path", Some("FileChanged")) | ("reason", Some("SessionEnd")) => true,
            ("error", Some("StopFailure")) => is_error_word(text),
            _ => false,
        }
    }
}

/// Whether it is a word such as `rate_limit`, not a text about the error.
fn is_error_word(text: &str) -> bool {
    text.len() <= MAX_CHARS && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn reduce(value: &mut Value, at: Position<'_>) {
    match value {
        Value::String(text) => {
            if !(text.is_empty() || (at.is_known && is_kept(at.key, text)) || byte_len(text).is_some()) {
                let may_be_notice = at.is_known && matches!(at.key, "text" | "message" | "content");
                let notice = may_be_notice.then(|| reduced_notice(text)).flatten();
                *text = notice.unwrap_or_else(|| digest_placeholder(text.as_bytes()));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| reduce(item, at)),
        Value::Object(map) => {
            for (key, item) in map.iter_mut() {
                if !item.as_str().is_some_and(|text| at.is_state(key, text)) {
                    reduce(item, at.below(key));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn reduced_notice(text: &str) -> Option<String> {
    let is_json = text.trim_start().starts_with('{');
    let mut value = is_json.then(|| json::parse_lossy(text.as_bytes())).flatten()?;
    value.get("type").and_then(Value::as_str).filter(|kind| is_notice(kind))?;
    reduce(&mut value, Position::FILE);
    Some(value.to_string())
}

fn is_kept(key: &str, text: &str) -> bool {
    // Events and files are matched by these paths.
    let is_path = matches!(key, "agent_transcript_path" | "cwd" | "transcript_path");
    (is_path || (is_name(key) && text.len() <= MAX_CHARS)) && !text.contains(['\n', '\r'])
}

/// Whether a string under this key is a name, an id or a state: in payloads, in team tools and in team files.
#[rustfmt::skip]
fn is_name(key: &str) -> bool {
    matches!(key, "addBlockedBy" | "addBlocks" | "agentId" | "agentType" | "agent_id" | "agent_type" | "assignedBy"
        | "backendType" | "blockedBy" | "blocks" | "color" | "completedStatus" | "completedTaskId" | "created_at"
        | "event" | "from" | "hook_event_name" | "id" | "idleReason" | "leadAgentId" | "leadSessionId"
        | "lead_agent_id" | "level" | "mode" | "model" | "msg_id" | "name" | "notification_type" | "owner" | "paneId"
        | "permissionMode" | "permission_mode" | "pidSpace" | "procStart" | "prompt_id" | "recipient"
        | "recipient_kind" | "requestId" | "request_id" | "resolvedModel" | "sender" | "senderColor" | "session_id"
        | "source" | "spawnedAgentType" | "status" | "subagent_type" | "target" | "targetColor" | "taskId"
        | "taskKind" | "task_id" | "teamName" | "team_name" | "teammate_id" | "teammate_name" | "timestamp"
        | "tmuxPaneId" | "tmux_pane_id" | "tmux_session_name" | "tmux_window_name" | "to" | "toolUseId" | "tool_name"
        | "tool_use_id" | "trigger" | "type" | "updatedFields")
}

fn is_team_tool(tool: &str) -> bool {
    Tool::named(tool).manages_teams() || matches!(tool, "TaskGet" | "TaskList")
}

fn is_notice(kind: &str) -> bool {
    matches!(
        kind,
        "idle_notification"
            | "permission_request"
            | "permission_response"
            | "plan_approval_request"
            | "plan_approval_response"
            | "shutdown_approved"
            | "shutdown_rejected"
            | "shutdown_request"
            | "shutdown_response"
            | "task_assignment"
            | "task_completed"
            | "teammate_terminated"
    )
}

#[cfg(test)]
mod tests;
