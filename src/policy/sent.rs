//! Claude Code's own messages that a model writes as plain text. 2.1.47 delivers a text that is such a message in JSON
//! as that message: a request stops its recipient, and an approval in the lead's inbox removes a member from the team.
//! Later versions reject the text before any hook runs.

use serde_json::Value;

use crate::payload::{Message, MessageKind, Payload};
use crate::team::Notice;

/// A SendMessage call, as its recipient interprets it.
pub struct Sent {
    /// The message.
    pub message: Message,
    /// The teammate that an approval names, which is not always the sender.
    pub from: Option<String>,
}

impl Sent {
    /// Reads a SendMessage call.
    pub fn of(payload: &Payload) -> Option<Sent> {
        let message = Message::of(payload.tool_input(), payload.tool_response())?;
        let Some(notice) = framed(&message) else { return Some(Sent { message, from: None }) };
        let (kind, from) = match notice.kind.as_str() {
            "shutdown_request" => (MessageKind::ShutdownRequest, None),
            "shutdown_approved" => (MessageKind::ShutdownResponse { approve: true }, notice.from),
            _ => return Some(Sent { message, from: None }),
        };
        Some(Sent { message: Message { kind, request: notice.request, ..message }, from })
    }
}

/// The message of Claude Code in this text, if it is the whole text.
fn framed(message: &Message) -> Option<Notice> {
    if message.kind != MessageKind::Plain || !message.text.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str::<Value>(&message.text).ok()?;
    Notice::read(&message.text)
}
