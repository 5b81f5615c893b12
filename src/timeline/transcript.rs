//! The content of transcripts: delivered messages, tool calls and token usage.

use serde_json::Value;

use crate::team::{Delivered, Tokens};

/// A delivered message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveredMessage {
    /// The reader.
    pub recipient: String,
    /// The agent or session of the transcript.
    pub agent: String,
    /// The time, RFC 3339, by Claude Code's clock.
    pub at: Option<String>,
    /// The message.
    pub message: Delivered,
}

/// A tool call in its caller's transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The caller.
    pub by: String,
    /// The agent or session of the transcript.
    pub agent: String,
    /// The time, RFC 3339, by Claude Code's clock.
    pub at: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its input, if it is a message.
    pub input: Value,
    /// The outcome; `None` if there is no result.
    pub result: Option<Outcome>,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded.
    Done,
    /// It failed or was denied, with the reason.
    Failed(String),
}

impl ToolUse {
    /// The reason of a failure.
    pub fn failure(&self) -> Option<&str> {
        match &self.result {
            Some(Outcome::Failed(why)) => Some(why),
            _ => None,
        }
    }
}

/// The token usage of one message of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The agent.
    pub by: String,
    /// The agent or session of the transcript.
    pub agent: String,
    /// The start, RFC 3339, by Claude Code's clock.
    pub at: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The tokens.
    pub tokens: Tokens,
}

/// One transcript of an agent or a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The owner.
    pub by: String,
    /// The agent's or the session's id.
    pub agent: String,
}
