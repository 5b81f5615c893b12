//! Claude Code's own messages that a model writes as plain text: 2.1.47 delivers a text that is such a message in JSON as
//! that message. A request stops its recipient, and an approval in the lead's inbox removes a member from the team. 2.1.177
//! and 2.1.330 reject the text before any hook runs. Seen with these three versions.

use serde_json::Value;

use crate::client::payload::{Message, MessageKind};

/// Whether the text of a message may be one of Claude Code's own messages.
pub fn is_json_text(message: &Message) -> bool {
    message.kind == MessageKind::Plain
        && message.text.trim_start().starts_with('{')
        && serde_json::from_str::<Value>(&message.text).is_ok()
}
