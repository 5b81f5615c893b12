//! The texts of a line of a transcript. Its format is internal to Claude Code, so unknown content is ignored.

use std::borrow::Cow;

use serde_json::Value;

use super::document::{Author, SearchText, TextKind, strings};
use super::event_texts::{CalledTool, joined};
use crate::transcript::delivered;
use teamkeep_model::{json, time};

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The user, another agent, or a tool.
    User,
    Agent,
}

/// The texts of one line, and its session. `owner` is the agent to which the transcript belongs. A result has no title: see
/// [`tool_of`].
pub(super) fn documents(line: &[u8], owner: impl FnOnce() -> String) -> (Vec<SearchText>, Option<String>) {
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
    let documents = match record.pointer("/message/content") {
        Some(Value::String(content)) => said(&author, role, content),
        Some(Value::Array(blocks)) => {
            blocks.iter().flat_map(|block| block_texts(&author, role, block)).collect()
        }
        _ => Vec::new(),
    };
    (documents, session)
}

/// The texts of a message to an agent, or by it.
fn said(author: &Author, role: Role, text: &str) -> Vec<SearchText> {
    if role == Role::Agent {
        return author.document(TextKind::Reply, "", text.to_owned()).into_iter().collect();
    }
    let messages = delivered(text);
    if messages.is_empty() {
        return author.document(TextKind::Prompt, "", text.to_owned()).into_iter().collect();
    }
    let to = &author.agent;
    let own = messages.into_iter().filter(|message| !is_notice(&message.text)).filter_map(|message| {
        let from = Author { agent: message.from, at: author.at };
        let summary = message.summary.filter(|summary| !message.text.starts_with(summary.as_str()));
        from.document(TextKind::Message, to, joined([&summary.unwrap_or_default(), &message.text]))
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
    let document = match text("type") {
        "text" => return said(author, role, text("text")),
        "thinking" => author.document(TextKind::Thinking, "", text("thinking").to_owned()),
        "tool_use" => {
            let input = block.get("input").unwrap_or(&Value::Null);
            CalledTool { tool: text("name"), id: text("id"), input }.document(author)
        }
        "tool_result" => {
            let result = strings(block.get("content").unwrap_or(&Value::Null));
            let result = author.document(TextKind::Result, "", result);
            result.map(|result| SearchText { key: text("tool_use_id").to_owned(), ..result })
        }
        _ => None,
    };
    document.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(line: &[u8]) -> Vec<(TextKind, String, String)> {
        let own = |found: SearchText| (found.kind, found.agent, found.text);
        documents(line, || "alice".to_owned()).0.into_iter().map(own).collect()
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
