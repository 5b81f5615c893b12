//! One message of the model. It is on several lines of a transcript, and can be in several transcripts, but counts once.

use teamkeep_model::team::{Spent, Terms, Tokens};
use teamkeep_model::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCost {
    /// The start, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub terms: Terms,
}

impl MessageCost {
    /// The message, from its first line.
    pub fn of(at: Option<Timestamp>, spent: Spent) -> MessageCost {
        MessageCost { at, model: spent.model, tokens: spent.tokens, terms: spent.terms }
    }

    /// Adds another line of the message: each has the usage of the message so far.
    pub fn add(&mut self, tokens: Tokens, terms: Terms) {
        self.tokens = self.tokens.most(tokens);
        self.terms = self.terms.most(terms);
    }
}
