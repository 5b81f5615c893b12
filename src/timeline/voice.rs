//! What a transcript says, piece by piece: who heard what, who used which tool, what the model cost.

use serde_json::Value;

use crate::team::{Delivered, Tokens};

/// A message, as its recipient read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Who read it.
    pub recipient: String,
    /// The id of the agent or session in whose transcript it is.
    pub agent: String,
    /// When, RFC 3339, by the client's clock.
    pub at: Option<String>,
    /// The message.
    pub message: Delivered,
}

/// A tool's use, as its user's transcript has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    /// Who used it.
    pub by: String,
    /// The id of the agent or session that used it.
    pub agent: String,
    /// When, RFC 3339, by the client's clock.
    pub at: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its input, where it is a message.
    pub input: Value,
    /// What came of it; `None` when no result is told.
    pub result: Option<Outcome>,
}

/// What came of a tool's use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was carried out.
    Done,
    /// It failed or was refused, and why.
    Failed(String),
}

impl Use {
    /// Why it failed or was refused, if so.
    pub fn failure(&self) -> Option<&str> {
        match &self.result {
            Some(Outcome::Failed(why)) => Some(why),
            _ => None,
        }
    }
}

/// What one message of the model cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// Whose message it was.
    pub by: String,
    /// The id of the agent or session whose it was.
    pub agent: String,
    /// When it began, RFC 3339, by the client's clock.
    pub at: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The tokens.
    pub tokens: Tokens,
}

/// One transcript: a life of an agent or a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// Whose it is.
    pub by: String,
    /// The agent's or the session's id.
    pub agent: String,
}
