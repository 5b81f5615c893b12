//! `teams/<team>/inboxes/<agent>.json`: mail that waits, and the client's own notices in it.

use serde_json::Value;
use serde_json::value::RawValue;

use super::text;
use crate::json;

/// One message in an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The sender.
    pub from: Option<String>,
    /// The text: plain, or one of the client's notices as JSON.
    pub text: String,
    /// When it was sent, RFC 3339, by the client's clock.
    pub timestamp: Option<String>,
    /// The summary.
    pub summary: Option<String>,
    /// The client's id of it, from 2.1.328 on; PostToolUse(SendMessage) tells the same.
    pub message_id: Option<String>,
    /// The entry as the file has it.
    pub raw: Value,
}

/// Reads an inbox; whatever is no message in it is left out. `None` when it is no JSON at all.
pub fn entries(bytes: &[u8]) -> Option<Vec<Entry>> {
    fresh_entries(bytes, |_| true)
}

/// Reads those messages of an inbox whose text in the file `is_fresh`: a state of it holds mostly what the one before
/// held, and need not be read again.
pub fn fresh_entries(bytes: &[u8], mut is_fresh: impl FnMut(&str) -> bool) -> Option<Vec<Entry>> {
    if let Ok(parts) = serde_json::from_slice::<Vec<&RawValue>>(bytes) {
        let fresh = parts.into_iter().map(RawValue::get).filter(|part| is_fresh(part));
        return Some(fresh.filter_map(|part| Entry::read(&json::lenient(part.as_bytes())?)).collect());
    }
    let file = json::lenient(bytes)?;
    Some(file.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(Entry::read).collect())
}

impl Entry {
    fn read(value: &Value) -> Option<Entry> {
        Some(Entry {
            from: text(value, &["from"]),
            text: value.get("text")?.as_str()?.to_owned(),
            timestamp: text(value, &["timestamp"]),
            summary: text(value, &["summary"]),
            message_id: text(value, &["msg_id"]),
            raw: value.clone(),
        })
    }

    /// What makes it the same message in two states of the inbox.
    pub fn identity(&self) -> (Option<&str>, Option<&str>, Option<&str>, &str) {
        (self.message_id.as_deref(), self.from.as_deref(), self.timestamp.as_deref(), &self.text)
    }
}

/// A notice that the client wraps as JSON into a message's text.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// `idle_notification`, `task_assignment`, `shutdown_request`, …
    pub kind: String,
    /// The shutdown or plan request that it belongs to.
    pub request: Option<String>,
    /// Whether an answer about a plan agrees.
    pub approved: Option<bool>,
    /// Who it is about.
    pub from: Option<String>,
    /// When, RFC 3339, by the client's clock.
    pub timestamp: Option<String>,
    /// Its reason, summary, text or plan, whichever it has.
    pub text: Option<String>,
    /// The task that it is about.
    pub task: Option<String>,
}

impl Notice {
    /// Reads a message's text; `None` when it is no notice. What follows the JSON is the client's advice to the model:
    /// 2.1.328 explains to the recipient of a shutdown request how to answer it.
    pub fn read(message: &str) -> Option<Notice> {
        let message = message.trim();
        if !message.starts_with('{') {
            return None;
        }
        let value = json::beginning(message)?;
        Some(Notice {
            kind: text(&value, &["type"])?,
            request: text(&value, &["requestId", "request_id"]),
            approved: ["approved", "approve"].iter().find_map(|key| value.get(key)?.as_bool()),
            from: text(&value, &["from", "assignedBy"]),
            timestamp: text(&value, &["timestamp"]),
            text: text(
                &value,
                &["reason", "message", "result", "subject", "summary", "feedback", "planContent"],
            ),
            task: text(&value, &["taskId", "completedTaskId"]),
        })
    }

    /// Reads an answer about a plan in the words in which the model gets it: `[Plan Rejected] Add tests`. Without a
    /// word of the lead's the client has one of its own.
    pub fn worded(message: &str) -> Option<Notice> {
        let own = ["You can now proceed with implementation", "Please revise your plan"];
        let words = [("[Plan Approved]", true), ("[Plan Rejected]", false)];
        words.into_iter().find_map(|(word, approved)| {
            let said = message.trim().strip_prefix(word)?.trim();
            let said = if own.contains(&said) { "" } else { said };
            Some(Notice {
                kind: "plan_approval_response".to_owned(),
                request: None,
                approved: Some(approved),
                from: None,
                timestamp: None,
                text: Some(said.to_owned()),
                task: None,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_gives_its_messages_and_leaves_out_the_rest() {
        let found =
            entries(br#"[{"from":"a","text":"hi","timestamp":"t","read":false},{"from":"b"},3]"#).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].from.as_deref(), found[0].text.as_str()), (Some("a"), "hi"));
        assert_eq!(entries(b"[{\"from\":"), None);
        assert_eq!(entries(b"{}"), Some(Vec::new()));
    }

    #[test]
    fn half_an_emoji_hides_no_message() {
        let found = entries(br#"[{"from":"a","text":"cut \ud83d"},{"from":"b","text":"whole"}]"#).unwrap();
        assert_eq!((found[0].text.as_str(), found[1].text.as_str()), ("cut \u{fffd}", "whole"));
        let notice = Notice::read(r#"{"type":"idle_notification","summary":"\ud83d"} and advice"#);
        assert_eq!(notice.unwrap().text.as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn a_notice_is_told_from_plain_text() {
        let text = r#"{"type":"shutdown_approved","requestId":"shutdown-1@bob","from":"bob"}"#;
        let notice = Notice::read(text).unwrap();
        assert_eq!(
            (notice.kind.as_str(), notice.request.as_deref()),
            ("shutdown_approved", Some("shutdown-1@bob"))
        );
        let advised =
            Notice::read(&format!("{text}\n\nThis is a shutdown request. To approve it, call …")).unwrap();
        assert_eq!(advised, notice);
        for plain in ["hello", "{not json", "{\"a\":1}", "[1]"] {
            assert_eq!(Notice::read(plain), None, "{plain}");
        }
    }
}
