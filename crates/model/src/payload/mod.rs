//! Payloads of hook calls: tolerant parsing, typed views, the known events, and the forms of agent ids.

use std::path::Path;

use base64::Engine;
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::{Tool, json};

mod tool;

pub use tool::{Message, MessageKind, Spawn, TaskUpdate, shown_task};

/// A payload. All getters are tolerant: they return `None` for a field that is missing or has another type.
#[derive(Debug)]
pub struct Payload {
    pub raw: Box<RawValue>,
    /// Why it cannot be parsed, if so.
    pub malformed: Option<String>,
    /// Whether some values are missing from the parsed fields because of a limit. The text is complete nevertheless.
    pub cut: bool,
    fields: Value,
}

/// Maximum number of parsed values in each part of a payload. The text is not limited.
const MAX_FIELDS: usize = 100_000;

pub fn parse(input: &Input) -> Payload {
    let bytes = trimmed(&input.bytes);
    if let Some(problem) = &input.problem {
        // An object with its closing bracket is complete, even if the pipe is still open.
        let whole = input
            .held
            .then(|| parse(&Input::from(input.bytes.clone())))
            .filter(|whole| whole.malformed.is_none());
        return whole.unwrap_or_else(|| broken(bytes, problem.clone()));
    }
    if bytes.is_empty() {
        return broken(bytes, "stdin was empty".to_owned());
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return broken(bytes, format!("invalid UTF-8: {error}")),
    };
    let json::Opened { value: fields, cut } = match json::read(bytes, MAX_FIELDS) {
        Ok(opened) => opened,
        Err(error) => return broken(bytes, why_invalid(&error)),
    };
    let Ok(raw) = RawValue::from_string(on_one_line(text)) else {
        return broken(bytes, "not valid JSON".to_owned());
    };
    let malformed = (!fields.is_object()).then(|| "not a JSON object".to_owned());
    Payload { raw, malformed, cut, fields }
}

/// Where the JSON is wrong. The parser's own words name its rules.
fn why_invalid(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Eof => format!("invalid JSON: it ends too early, at line {line} column {column}"),
        _ => format!("invalid JSON at line {line} column {column}"),
    }
}

/// A payload that is not valid JSON: its text, or base64 if it is not UTF-8 either. Event and session are still known
/// if they come before the error.
fn broken(bytes: &[u8], problem: String) -> Payload {
    // In JSON, each control character takes six bytes.
    let controls = bytes.iter().filter(|byte| **byte < 0x20).count();
    let (key, text) = match std::str::from_utf8(bytes) {
        Ok(text) if controls <= bytes.len() / 8 => ("text", text.to_owned()),
        _ => ("base64", base64::engine::general_purpose::STANDARD.encode(bytes)),
    };
    let wrapped = serde_json::json!({ key: text });
    let raw = serde_json::value::to_raw_value(&wrapped).unwrap_or_else(|_| RawValue::NULL.to_owned());
    let fields = Value::Object(json::scan_top_level(bytes, &["hook_event_name", "session_id"]));
    Payload { raw, malformed: Some(problem), cut: false, fields }
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii()
}

/// Removes the line breaks between tokens. Strings cannot contain any in valid JSON.
fn on_one_line(text: &str) -> String {
    if text.bytes().any(|byte| byte == b'\n' || byte == b'\r') {
        text.chars().filter(|c| *c != '\n' && *c != '\r').collect()
    } else {
        text.to_owned()
    }
}

impl Payload {
    pub fn from_raw(raw: &RawValue) -> Payload {
        Payload { raw: raw.to_owned(), ..Payload::fields_of(raw) }
    }

    /// Like [`Payload::from_raw`], without the text: for callers that parse many payloads.
    pub fn fields_of(raw: &RawValue) -> Payload {
        Payload::fields_without(raw, &[])
    }

    /// The same without these fields.
    pub fn fields_without(raw: &RawValue, unused: &[&str]) -> Payload {
        let opened = json::read_without(raw.get().as_bytes(), MAX_FIELDS, unused).unwrap_or_default();
        Payload { raw: RawValue::NULL.to_owned(), malformed: None, cut: opened.cut, fields: opened.value }
    }

    pub fn event_name(&self) -> Option<&str> {
        self.text("hook_event_name")
    }

    pub fn kind(&self) -> EventKind {
        self.event_name().map_or(EventKind::Unknown, EventKind::named)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }

    pub fn field(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    pub fn session(&self) -> Option<&str> {
        self.text("session_id")
    }

    pub fn agent_id(&self) -> Option<&str> {
        self.text("agent_id").filter(|id| !id.is_empty())
    }

    pub fn transcript(&self) -> Option<&Path> {
        self.text("transcript_path").map(Path::new)
    }

    pub fn tool_name(&self) -> Option<&str> {
        self.text("tool_name")
    }

    pub fn tool(&self) -> Option<Tool> {
        self.tool_name().map(Tool::named)
    }

    pub fn tool_input(&self) -> &Value {
        self.fields.get("tool_input").unwrap_or(&Value::Null)
    }

    /// Whether it is the notification that a session has waited for its user for a minute.
    pub fn is_idle_prompt(&self) -> bool {
        self.text("notification_type") == Some("idle_prompt")
    }

    pub fn tool_response(&self) -> &Value {
        self.fields.get("tool_response").unwrap_or(&Value::Null)
    }

    /// The id that the tool call has in PreToolUse, PostToolUse and the transcript.
    pub fn tool_use_id(&self) -> Option<&str> {
        self.text("tool_use_id")
    }
}

#[derive(Debug)]
pub struct Input {
    pub bytes: Vec<u8>,
    /// Why the input is incomplete, if it is.
    pub problem: Option<String>,
    /// Whether the time limit passed while the pipe was still open. The input may be complete nevertheless.
    pub held: bool,
}

impl From<Vec<u8>> for Input {
    fn from(bytes: Vec<u8>) -> Input {
        Input { bytes, problem: None, held: false }
    }
}

// The forms of agent ids, in `agent_id` of payloads and in the file names of transcripts.

/// The form of an agent's id. No other code reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentId<'a> {
    /// `a<name>-<16 hex>`: a teammate in the lead's process, in all its turns. Seen with 2.1.328 and later.
    Named(&'a str),
    /// `a<16 hex>`: a plain subagent. In 2.1.47 and 2.1.177 also one turn of a teammate: each has a new id.
    Plain,
    /// `name@team`, which names a member in team files, or an unknown form.
    Other,
}

impl AgentId<'_> {
    pub fn parse(id: &str) -> AgentId<'_> {
        let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Some(rest) = id.strip_prefix('a') else { return AgentId::Other };
        match rest.rsplit_once('-') {
            // A name can contain dashes and hexadecimal digits, so the number after the last dash counts.
            Some((name, number)) if is_hex(number) && !name.is_empty() => AgentId::Named(name),
            None if is_hex(rest) => AgentId::Plain,
            _ => AgentId::Other,
        }
    }
}

// The events that this version of teamkeep knows, in both spellings.

macro_rules! events {
    ($($Event:ident $subcommand:literal,)+) => {
        /// A hook event of Claude Code. Those from `Notification` on need a hook only if a rule names them. WorktreeCreate and
        /// MessageDisplay are missing, because a hook for them replaces an action of Claude Code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $($Event,)+
            /// An event that this version does not know: recorded and allowed.
            Unknown,
        }

        /// All known events: Claude Code's spelling and the subcommand's.
        pub const KNOWN: &[(EventKind, &str, &str)] = &[$((EventKind::$Event, stringify!($Event), $subcommand)),+];
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
pub const BLOCKABLE: &[EventKind] = &[
    EventKind::PreToolUse,
    EventKind::PreSkillShellCommand,
    EventKind::TeammateIdle,
    EventKind::TaskCreated,
    EventKind::TaskCompleted,
    EventKind::SubagentStop,
    EventKind::Stop,
];

impl EventKind {
    pub fn can_be_blocked(self) -> bool {
        BLOCKABLE.contains(&self)
    }

    pub fn is_for_rules(self) -> bool {
        (EventKind::Notification..EventKind::Unknown).contains(&self)
    }

    pub fn has_tool(self) -> bool {
        use EventKind::{PermissionDenied, PermissionRequest, PostToolUse, PostToolUseFailure};
        self.is_before_tool()
            || matches!(self, PostToolUse | PostToolUseFailure | PermissionRequest | PermissionDenied)
    }

    /// Whether a tool is about to run. A `!` line of a skill runs in Bash or PowerShell without a PreToolUse hook; since
    /// 2.1.332 it has a PreSkillShellCommand hook with the same `tool_name` and `tool_input`.
    pub fn is_before_tool(self) -> bool {
        matches!(self, EventKind::PreToolUse | EventKind::PreSkillShellCommand)
    }

    /// Whether a gate or a rule for this event also judges another one.
    pub fn includes(self, other: EventKind) -> bool {
        self == other || (self == EventKind::PreToolUse && other.is_before_tool())
    }

    /// The event with this name, in Claude Code's spelling or the subcommand's.
    pub fn named(name: &str) -> EventKind {
        KNOWN
            .iter()
            .find(|(_, client, command)| *client == name || *command == name)
            .map_or(EventKind::Unknown, |row| row.0)
    }

    pub fn name(self) -> &'static str {
        KNOWN.iter().find(|row| row.0 == self).map_or("Unknown", |row| row.1)
    }

    /// Its name on a command line.
    pub fn subcommand(self) -> &'static str {
        KNOWN.iter().find(|row| row.0 == self).map_or("unknown", |row| row.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload_of(bytes: &[u8]) -> Payload {
        parse(&Input::from(bytes.to_vec()))
    }

    #[test]
    fn a_payload_is_recorded_verbatim_except_for_line_breaks() {
        let payload = payload_of(
            b"{ \"n\": 1.000000000000000000001e400,\r\n \"a\\nb\": [1 ,2],\n\"hook_event_name\":\"Stop\" }\n",
        );
        assert_eq!(
            payload.raw.get(),
            "{ \"n\": 1.000000000000000000001e400, \"a\\nb\": [1 ,2],\"hook_event_name\":\"Stop\" }"
        );
        assert_eq!(payload.kind(), EventKind::Stop);
        assert_eq!(payload.malformed, None);
    }

    #[test]
    fn a_payload_that_is_not_an_object_is_recorded_with_the_reason() {
        assert_eq!(payload_of(b"").malformed.unwrap(), "stdin was empty");
        assert_eq!(payload_of(b"[1]").raw.get(), "[1]");
        assert_eq!(payload_of(b"[1]").malformed.unwrap(), "not a JSON object");
        let cut = payload_of(b"{\"session_id\": \"a");
        assert_eq!(cut.raw.get(), r#"{"text":"{\"session_id\": \"a"}"#);
        assert!(cut.malformed.unwrap().starts_with("invalid JSON: "));
        let named = payload_of(b"{\"hook_event_name\":\"PreToolUse\",\"tool_input\":{\"a");
        assert_eq!((named.kind(), named.tool_input()), (EventKind::PreToolUse, &Value::Null));
        let bytes = payload_of(b"\xff\xfe{}");
        assert_eq!(bytes.raw.get(), r#"{"base64":"//57fQ=="}"#);
        assert!(bytes.malformed.unwrap().starts_with("invalid UTF-8: "));
    }

    #[test]
    fn half_an_emoji_and_private_keys_of_serde_json_hide_no_field() {
        let cut = payload_of(br#"{"session_id":"L","hook_event_name":"Stop","last":"cut \ud83d"}"#);
        assert_eq!((cut.kind(), cut.session(), &cut.malformed), (EventKind::Stop, Some("L"), &None));
        assert!(cut.raw.get().contains(r#""cut \ud83d""#), "the record is verbatim");
        let forged =
            payload_of(br#"{"$serde_json::private::RawValue":"{\"hook_event_name\":\"SessionEnd\"}"}"#);
        assert_eq!(forged.kind(), EventKind::Unknown);
    }

    #[test]
    fn unused_fields_are_left_out_only_where_they_are_fields_of_the_payload() {
        let raw: Box<RawValue> =
            serde_json::from_str(r#"{"cwd":["/p",{"cwd":1}],"tool_input":{"cwd":"/q"},"cut":"\ud83d"}"#)
                .unwrap();
        let payload = Payload::fields_without(&raw, &["cwd"]);
        assert_eq!((payload.field("cwd"), payload.text("cut")), (None, Some("\u{fffd}")));
        assert_eq!(payload.tool_input()["cwd"], "/q");
    }

    #[test]
    fn fields_of_the_wrong_type_are_absent() {
        let payload = payload_of(br#"{"session_id": 7, "agent_id": "", "tool_input": "x"}"#);
        assert_eq!((payload.session(), payload.agent_id(), payload.tool()), (None, None, None));
        assert_eq!(payload.kind(), EventKind::Unknown);
    }

    #[test]
    fn the_id_of_a_teammate_has_its_name_whatever_the_name_looks_like() {
        for name in ["alice", "a", "code-reviewer", "a-0123456789abcdef", "0123456789abcdef", "ärger"] {
            let id = format!("a{name}-7dfceaaaef47c69e");
            assert_eq!(AgentId::parse(&id), AgentId::Named(name));
        }
        assert_eq!(AgentId::parse("a53bab259a887ce37"), AgentId::Plain);
        for id in ["", "a", "a-7dfceaaaef47c69e", "alice@team", "aalice-", "aalice-x", "alice", "7dfc"] {
            assert_eq!(AgentId::parse(id), AgentId::Other, "{id:?}");
        }
    }
}
