//! The texts in events, transcripts and team files: each with its kind and its author, the unit of a search.

use crate::timeline::parse_kind;
use crate::transcript::delivered;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use strum::VariantArray;
use teamkeep_model::event::Recorded;
use teamkeep_model::json::serde_name;
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_model::team::{Task, TeamPath, entries, inbox_owner};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_model::{Tool, json};
use teamkeep_redact::is_secret_key;
use teamkeep_system::error;

/// The strings of a value are collected up to this size, in bytes.
const MAX_TEXT_BYTES: usize = 64 << 20;
/// Encoded data, such as an image, is at least this long, in bytes.
const MIN_DATA_BYTES: usize = 4 << 10;

/// The kind of a text. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum TextKind {
    /// A message between agents.
    Message,
    /// A request to an agent: by the user, or when it was started.
    Prompt,
    /// An answer of an agent.
    Reply,
    /// The model's thinking, from a transcript.
    Thinking,
    /// Subject and description of a task.
    Task,
    /// The input of a tool.
    Tool,
    /// The result of a tool.
    Result,
    /// A verdict of the policy.
    Verdict,
}

impl TextKind {
    pub const ALL: &[TextKind] = TextKind::VARIANTS;

    pub fn word(self) -> String {
        serde_name(&self)
    }

    pub fn parse(text: &str) -> error::Result<TextKind> {
        parse_kind(text, TextKind::ALL)
    }
}

/// One text to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchText {
    pub kind: TextKind,
    pub at: Timestamp,
    pub agent: String,
    /// The tool, the recipient, the task or the gate.
    pub title: String,
    /// The ID of the tool call, by which the same text in several sources is recognized; else empty.
    pub key: String,
    pub text: String,
}

/// Who and when, the same for all texts of one line.
#[derive(Debug, Clone)]
pub(super) struct Author {
    pub agent: String,
    pub at: Timestamp,
}

impl Author {
    /// A text of this author; `None` if it is empty.
    pub(super) fn search_text(&self, kind: TextKind, title: &str, text: String) -> Option<SearchText> {
        let (agent, at, title) = (self.agent.clone(), self.at, title.to_owned());
        let is_empty = text.trim().is_empty();
        (!is_empty).then_some(SearchText { kind, at, agent, title, key: String::new(), text })
    }
}

/// Fields of tools' results that repeat a whole file.
const REPEATED: [&str; 2] = ["originalFile", "structuredPatch"];

/// All strings of a JSON value, one below the other, without encoded data. A string that is itself JSON is not parsed.
pub(super) fn strings(value: &Value) -> String {
    let mut text = String::new();
    collect(value, &mut text);
    text
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(string) if is_data(string) => {}
        Value::String(string) if text.len() < MAX_TEXT_BYTES => {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(string);
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, text)),
        Value::Object(fields) => {
            let own = fields.iter().filter(|(key, _)| !REPEATED.contains(&key.as_str()));
            for (key, value) in own {
                match value {
                    _ if !is_secret_key(key) => collect(value, text),
                    // A redaction needs the key to recognize the value.
                    Value::String(secret) => collect(&json!(json!({ key: secret }).to_string()), text),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Whether a text begins like base64.
fn is_data(text: &str) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    text.as_bytes().get(..MIN_DATA_BYTES).is_some_and(|start| start.iter().all(is_digit))
}

// The texts of an event of the log, and of a tool call, which hooks and transcripts record in the same form.

/// The texts of one event. PreToolUse and PostToolUse have the same input.
pub(super) fn of_event(recorded: &Recorded) -> Vec<SearchText> {
    let author = Author { agent: recorded.actor.shown().to_owned(), at: recorded.at };
    if let Some(verdict) = &recorded.verdict {
        return verdict_text(&author, verdict.get()).into_iter().collect();
    }
    let payload = Payload::fields_of(&recorded.payload);
    let text = |key: &str| payload.text(key).unwrap_or_default();
    let one = |kind: TextKind, title: &str, text: String| {
        author.search_text(kind, title, text).into_iter().collect()
    };
    match EventKind::named(&recorded.event) {
        EventKind::UserPromptSubmit => one(TextKind::Prompt, "", text("prompt").to_owned()),
        EventKind::Stop | EventKind::SubagentStop => {
            one(TextKind::Reply, "", text("last_assistant_message").to_owned())
        }
        EventKind::TaskCreated | EventKind::TaskCompleted => {
            let id = payload.field("task_id").and_then(Value::as_str).unwrap_or_default();
            let text = joined([text("task_subject"), text("task_description")]);
            one(TextKind::Task, &format!("#{id}"), text)
        }
        EventKind::PreToolUse
        | EventKind::PreSkillShellCommand
        | EventKind::PostToolUse
        | EventKind::PostToolUseFailure => {
            let id = payload.tool_use_id().unwrap_or_default();
            let tool = payload.tool_name().unwrap_or_default();
            let call = CalledTool { tool, id, input: payload.tool_input() };
            let call = call.search_text(&author);
            let failure = || author.search_text(TextKind::Result, tool, text("error").to_owned());
            let result = result(&author, tool, payload.tool_response()).or_else(failure);
            let result = result.map(|result| SearchText { key: id.to_owned(), ..result });
            call.into_iter().chain(result).collect()
        }
        _ => match payload.text("compact_summary") {
            Some(summary) => one(TextKind::Reply, "compaction", summary.to_owned()),
            None => Vec::new(),
        },
    }
}

fn verdict_text(author: &Author, verdict: &str) -> Option<SearchText> {
    let verdict: Value = serde_json::from_str(verdict).ok()?;
    let field = |key: &str| verdict.get(key).and_then(Value::as_str).unwrap_or_default();
    let gate = if field("rule").is_empty() { field("gate") } else { field("rule") };
    author.search_text(
        TextKind::Verdict,
        &joined([field("decision"), gate]).replace('\n', " "),
        field("reason").to_owned(),
    )
}

/// A tool call: the name of the tool, its ID and its input.
#[derive(Debug, Clone, Copy)]
pub(super) struct CalledTool<'a> {
    pub tool: &'a str,
    pub id: &'a str,
    pub input: &'a Value,
}

impl CalledTool<'_> {
    pub(super) fn search_text(&self, author: &Author) -> Option<SearchText> {
        let field = |key: &str| self.input.get(key).and_then(Value::as_str).unwrap_or_default();
        let (kind, title, text) = match Tool::named(self.tool) {
            Tool::SendMessage => {
                (TextKind::Message, field_of(self.input, &["to", "recipient"]), self.message())
            }
            Tool::TaskCreate | Tool::TaskUpdate => {
                let id = field_of(self.input, &["taskId"]);
                let title = if id.is_empty() { id } else { format!("#{id}") };
                (TextKind::Task, title, joined([field("subject"), field("description")]))
            }
            Tool::Agent => {
                (TextKind::Prompt, field("name").to_owned(), joined([field("description"), field("prompt")]))
            }
            _ => (TextKind::Tool, self.tool.to_owned(), strings(self.input)),
        };
        Some(SearchText { key: self.id.to_owned(), ..author.search_text(kind, &title, text)? })
    }

    /// The summary and the text of a message.
    fn message(&self) -> String {
        let text = |key: &str| self.input.get(key).map(strings).unwrap_or_default();
        let (summary, body) = (text("summary"), text("message"));
        let body = if body.is_empty() { joined([&text("content"), &text("reason")]) } else { body };
        if body.starts_with(&summary) { body } else { joined([&summary, &body]) }
    }
}

/// The result of a call. Those of the team's own tools are left out.
fn result(author: &Author, tool: &str, response: &Value) -> Option<SearchText> {
    if is_repeated(tool) { None } else { author.search_text(TextKind::Result, tool, strings(response)) }
}

/// Whether the results of a tool only repeat the input.
pub(super) fn is_repeated(tool: &str) -> bool {
    matches!(
        Tool::named(tool),
        Tool::SendMessage | Tool::TaskCreate | Tool::TaskUpdate | Tool::Agent | Tool::TeamCreate
    )
}

/// The first of these fields that is a string.
fn field_of(input: &Value, keys: &[&str]) -> String {
    let found = keys.iter().find_map(|key| input.get(*key)?.as_str());
    found.unwrap_or_default().to_owned()
}

/// Texts, one below the other, without those that are empty.
pub(super) fn joined<const N: usize>(texts: [&str; N]) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

// The texts of a line of a transcript. Its format is internal to Claude Code, so unknown content is ignored.

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The user, another agent, or a tool.
    User,
    Agent,
}

/// The texts of one line, and its session. `owner` is the agent to which the transcript belongs. A result has no title: see
/// [`tool_of`].
pub(super) fn of_transcript_line(
    line: &[u8],
    owner: impl FnOnce() -> String,
) -> (Vec<SearchText>, Option<String>) {
    let bytes = match std::str::from_utf8(line) {
        Ok(_) => Cow::Borrowed(line),
        Err(_) => Cow::Owned(String::from_utf8_lossy(line).into_owned().into_bytes()),
    };
    let Some(record) = json::parse_lossy(&bytes) else { return (Vec::new(), None) };
    let text = |key: &str| record.get(key).and_then(Value::as_str);
    let role = match text("type") {
        Some("user") => Role::User,
        Some("assistant") => Role::Agent,
        _ => return (Vec::new(), None),
    };
    let at = text("timestamp").and_then(time::parse).unwrap_or_default();
    let author = Author { agent: text("agentName").map_or_else(owner, str::to_owned), at };
    let session = text("sessionId").map(str::to_owned);
    let texts = match record.pointer("/message/content") {
        Some(Value::String(content)) => said(&author, role, content),
        Some(Value::Array(blocks)) => {
            blocks.iter().flat_map(|block| block_texts(&author, role, block)).collect()
        }
        _ => Vec::new(),
    };
    (texts, session)
}

/// The texts of a message to an agent, or by it.
fn said(author: &Author, role: Role, text: &str) -> Vec<SearchText> {
    if role == Role::Agent {
        return author.search_text(TextKind::Reply, "", text.to_owned()).into_iter().collect();
    }
    let messages = delivered(text);
    if messages.is_empty() {
        return author.search_text(TextKind::Prompt, "", text.to_owned()).into_iter().collect();
    }
    let to = &author.agent;
    let own = messages.into_iter().filter(|message| !is_notice(&message.text)).filter_map(|message| {
        let from = Author { agent: message.from, at: author.at };
        let summary = message.summary.filter(|summary| !message.text.starts_with(summary.as_str()));
        from.search_text(TextKind::Message, to, joined([&summary.unwrap_or_default(), &message.text]))
    });
    own.collect()
}

/// Whether a message is a notice of Claude Code, such as `{"type":"idle_notification",…}`.
pub(super) fn is_notice(text: &str) -> bool {
    let notice = |text| json::parse_prefix(text).is_some_and(|value| value.get("type").is_some());
    text.trim_start().starts_with('{') && notice(text.trim_start())
}

/// The tool of the call with this ID, if the line has it.
pub(super) fn tool_of(line: &[u8], id: &str) -> Option<String> {
    let record = json::parse_lossy(line)?;
    let blocks = record.pointer("/message/content")?.as_array()?;
    let is_call = |block: &&Value| {
        block.get("type").is_some_and(|kind| kind == "tool_use")
            && block.get("id").is_some_and(|own| own == id)
    };
    blocks.iter().find(is_call)?.get("name")?.as_str().map(str::to_owned)
}

fn block_texts(author: &Author, role: Role, block: &Value) -> Vec<SearchText> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    let found = match text("type") {
        "text" => return said(author, role, text("text")),
        "thinking" => author.search_text(TextKind::Thinking, "", text("thinking").to_owned()),
        "tool_use" => {
            let input = block.get("input").unwrap_or(&Value::Null);
            CalledTool { tool: text("name"), id: text("id"), input }.search_text(author)
        }
        "tool_result" => {
            let result = strings(block.get("content").unwrap_or(&Value::Null));
            let result = author.search_text(TextKind::Result, "", result);
            result.map(|result| SearchText { key: text("tool_use_id").to_owned(), ..result })
        }
        _ => None,
    };
    found.into_iter().collect()
}

// The texts of a run's archived tasks and inboxes. Most of them are also in an event.

/// The texts of a file with this path below Claude Code's directory, whose content was archived at `seen`.
pub(super) fn of_team_file(path: &str, bytes: &[u8], seen: Timestamp) -> Vec<SearchText> {
    match TeamPath::of(path) {
        TeamPath::Task(_, name) => {
            Task::parse(name, bytes).and_then(|task| task_text(&task, seen)).into_iter().collect()
        }
        TeamPath::Inbox(name) => inbox_texts(inbox_owner(name), bytes, seen),
        _ => Vec::new(),
    }
}

fn task_text(task: &Task, at: Timestamp) -> Option<SearchText> {
    let author = Author { agent: task.owner.clone().unwrap_or_else(|| "unassigned".to_owned()), at };
    let description = task.raw.get("description").and_then(Value::as_str).unwrap_or_default();
    let text = joined([task.subject.as_deref().unwrap_or_default(), description]);
    author.search_text(TextKind::Task, &format!("#{}", task.id), text)
}

fn inbox_texts(owner: &str, bytes: &[u8], seen: Timestamp) -> Vec<SearchText> {
    let messages = entries(bytes).unwrap_or_default().into_iter().filter(|message| !is_notice(&message.text));
    let text = messages.filter_map(|message| {
        let at = message.timestamp.as_deref().and_then(time::parse).unwrap_or(seen);
        let author = Author { agent: message.from.unwrap_or_else(|| "unknown".to_owned()), at };
        let summary = message.summary.filter(|summary| !message.text.starts_with(summary.as_str()));
        author.search_text(TextKind::Message, owner, joined([&summary.unwrap_or_default(), &message.text]))
    });
    text.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_strings_of_a_value_are_collected_without_encoded_data() {
        let data = "QUJD".repeat(2_000);
        let value =
            json!({"a": "one", "b": [{"c": "two"}, 3, data], "originalFile": "whole", "d": {"e": "four"}});
        assert_eq!(strings(&value), "one\ntwo\nfour");
        for text in ["漢字".repeat(2_000), format!("{{\"a\":{data}"), "QUJD".repeat(1_000)] {
            assert_eq!(strings(&json!([text])), text, "not encoded data");
        }
    }

    #[test]
    fn a_secret_keeps_its_key() {
        let value = json!({"user": "ann", "db_password": "it's \"me\"", "secret": [1, "x"], "tokens": "two"});
        assert_eq!(strings(&value), "ann\n{\"db_password\":\"it's \\\"me\\\"\"}\ntwo");
    }

    #[test]
    fn a_message_in_a_temporary_file_is_to_the_owner_of_the_inbox() {
        let bytes = br#"[{"from":"alice","text":"the parser is done"}]"#;
        for name in ["bob.json", "bob.json.tmp.1f"] {
            let texts = of_team_file(&format!("teams/t/inboxes/{name}"), bytes, Timestamp::default());
            assert_eq!((texts.len(), texts[0].title.as_str()), (1, "bob"), "{name}");
        }
    }

    #[test]
    fn a_kind_is_parsed_from_its_word() {
        for kind in TextKind::ALL {
            assert_eq!(TextKind::parse(&kind.word()).unwrap(), *kind);
        }
        assert_eq!(TextKind::parse("mesage").unwrap_err().hints, ["did you mean \"message\"?"]);
    }

    fn texts(line: &[u8]) -> Vec<(TextKind, String, String)> {
        let own = |found: SearchText| (found.kind, found.agent, found.text);
        of_transcript_line(line, || "alice".to_owned()).0.into_iter().map(own).collect()
    }

    #[test]
    fn the_blocks_of_a_line_are_separate_texts() {
        let line = json!({"type": "assistant", "message": {"content": [
            {"type": "text", "text": "done"},
            {"type": "tool_use", "id": "t1", "name": "SendMessage", "input": {"to": "bob", "summary": "half", "message": "half of it"}},
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "cargo test", "timeout": 3}},
        ]}});
        let alice = |kind, text: &str| (kind, "alice".to_owned(), text.to_owned());
        let expected = [
            alice(TextKind::Reply, "done"),
            alice(TextKind::Message, "half of it"),
            alice(TextKind::Tool, "cargo test"),
        ];
        assert_eq!(texts(line.to_string().as_bytes()), expected);
    }

    #[test]
    fn a_delivered_message_belongs_to_its_sender_and_a_notice_to_nobody() {
        let content = "<teammate-message teammate_id=\"bob\" summary=\"s\">\nhello\n</teammate-message>\n\n\
                       <teammate-message teammate_id=\"bob\">\n{\"type\":\"idle_notification\"}\n</teammate-message>";
        let line = json!({"type": "user", "message": {"content": content}}).to_string();
        assert_eq!(texts(line.as_bytes()), [(TextKind::Message, "bob".to_owned(), "s\nhello".to_owned())]);
    }

    #[test]
    fn a_line_that_is_not_utf_8_keeps_its_valid_text() {
        let line = b"{\"type\":\"user\",\"message\":{\"content\":\"half \xff latin\"}}";
        assert_eq!(texts(line)[0].2, "half \u{fffd} latin");
        assert!(texts(b"\xff{\"type\":").is_empty() && texts(b"[1]").is_empty() && texts(b"").is_empty());
    }
}
