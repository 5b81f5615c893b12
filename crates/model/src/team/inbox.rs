//! `teams/<team>/inboxes/<agent>.json`: unread messages, including Claude Code's automatic notices.

use serde_json::Value;
use serde_json::value::RawValue;

use super::text;
use crate::json;

#[derive(Debug, Clone, PartialEq)]
pub struct InboxEntry {
    pub from: Option<String>,
    /// The text: plain, or an automatic notice as JSON.
    pub text: String,
    /// When it was sent: RFC 3339, Claude Code's clock.
    pub timestamp: Option<String>,
    pub summary: Option<String>,
    /// Claude Code's message id (2.1.328 and later), the same as in PostToolUse of SendMessage.
    pub message_id: Option<String>,
    pub raw: Value,
}

pub fn entries(bytes: &[u8]) -> Option<Vec<InboxEntry>> {
    fresh_entries(bytes, |_| true)
}

/// Parses only the messages for which `is_fresh` returns true, given their text in the file. Most messages of an inbox
/// were in its previous state and need not be parsed again.
pub fn fresh_entries(bytes: &[u8], mut is_fresh: impl FnMut(&str) -> bool) -> Option<Vec<InboxEntry>> {
    if let Ok(parts) = serde_json::from_slice::<Vec<&RawValue>>(bytes) {
        let fresh = parts.into_iter().map(RawValue::get).filter(|part| is_fresh(part));
        return Some(
            fresh.filter_map(|part| InboxEntry::read(&json::parse_lossy(part.as_bytes())?)).collect(),
        );
    }
    let file = json::parse_lossy(bytes)?;
    Some(file.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(InboxEntry::read).collect())
}

impl InboxEntry {
    fn read(value: &Value) -> Option<InboxEntry> {
        Some(InboxEntry {
            from: text(value, &["from"]),
            text: value.get("text")?.as_str()?.to_owned(),
            timestamp: text(value, &["timestamp"]),
            summary: text(value, &["summary"]),
            message_id: text(value, &["msg_id"]),
            raw: value.clone(),
        })
    }

    /// The fields by which a message is recognized in another state of the inbox.
    pub fn identity(&self) -> (Option<&str>, Option<&str>, Option<&str>, &str) {
        (self.message_id.as_deref(), self.from.as_deref(), self.timestamp.as_deref(), &self.text)
    }
}

/// An automatic notice, which Claude Code puts as JSON into a message's text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notice {
    /// `idle_notification`, `task_assignment`, `shutdown_request`, …
    pub kind: String,
    /// The id of the shutdown or plan request.
    pub request: Option<String>,
    /// Whether a response to a plan approves it.
    pub approved: Option<bool>,
    /// The agent that the notice is about, or its sender.
    pub from: Option<String>,
    pub timestamp: Option<String>,
    pub text: Option<String>,
    /// The final text of the turn after which an agent is idle (2.1.251 and later).
    pub result: Option<String>,
    pub task: Option<String>,
    /// How the agent that is idle ended its turn.
    pub idle_reason: Option<IdleReason>,
    /// Why its turn failed, in words for people.
    pub failure: Option<String>,
}

named_enum! {
    /// How the turn of an agent ended that is idle.
    pub enum IdleReason {
        /// It did what it was asked.
        Available = "available",
        /// The user interrupted it.
        Interrupted = "interrupted",
        /// A usage limit or another error of the API ended it.
        Failed = "failed",
    }
}

impl Notice {
    /// Parses a message's text; `None` if it is not a notice. After the JSON there may be instructions for the model:
    /// 2.1.328 explains to the recipient of a shutdown request how to respond.
    pub fn read(message: &str) -> Option<Notice> {
        let message = message.trim();
        if !message.starts_with('{') {
            return None;
        }
        let value = json::parse_prefix(message)?;
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
            result: text(&value, &["result"]),
            task: text(&value, &["taskId", "completedTaskId"]),
            idle_reason: text(&value, &["idleReason"]).and_then(|word| IdleReason::named(&word)),
            failure: text(&value, &["failureReason"]),
        })
    }

    /// The answer that an idle notice delivers to the lead: the final text of the turn, unless it is blank.
    pub fn answer(&self) -> Option<&str> {
        let result = self.result.as_deref().filter(|_| self.kind == "idle_notification");
        result.filter(|text| !text.trim().is_empty())
    }

    /// Whether it reports that an agent is idle and nothing else: no answer, no failure, no interruption.
    pub fn is_only_idle(&self) -> bool {
        let is_plain = matches!(self.idle_reason, None | Some(IdleReason::Available));
        self.kind == "idle_notification" && is_plain && self.answer().is_none()
    }

    /// Parses a response to a plan in the form in which the model receives it: `[Plan Rejected] Add tests`. If the lead
    /// gave no feedback, Claude Code adds a default text.
    pub fn worded(message: &str) -> Option<Notice> {
        let own = ["You can now proceed with implementation", "Please revise your plan"];
        let words = [("[Plan Approved]", true), ("[Plan Rejected]", false)];
        words.into_iter().find_map(|(word, approved)| {
            let feedback = message.trim().strip_prefix(word)?.trim();
            let feedback = if own.contains(&feedback) { "" } else { feedback };
            Some(Notice {
                kind: "plan_approval_response".to_owned(),
                approved: Some(approved),
                text: Some(feedback.to_owned()),
                ..Notice::default()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_is_read_without_entries_that_are_not_messages() {
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
    fn only_an_idle_notice_with_a_result_delivers_an_answer() {
        let answer = |text: &str| Notice::read(text).and_then(|notice| notice.answer().map(str::to_owned));
        assert_eq!(answer(r#"{"type":"idle_notification","result":"Done."}"#).as_deref(), Some("Done."));
        for text in [
            r#"{"type":"idle_notification","summary":"Done."}"#,
            r#"{"type":"idle_notification","result":""}"#,
            r#"{"type":"idle_notification","result":" \n\t"}"#,
            r#"{"type":"idle_notification","result":7}"#,
            r#"{"type":"task_completed","result":"Done."}"#,
        ] {
            assert_eq!(answer(text), None, "{text}");
        }
    }

    #[test]
    fn a_notice_is_distinguished_from_plain_text() {
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
