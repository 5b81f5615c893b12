//! Messages that quote Claude Code's tags: before 2.1.328 such a text looks, in the recipient's transcript, like
//! messages of the agents that it names.

use std::collections::HashMap;

use super::message_candidate::{Copy, MessageCandidate};
use crate::team::read_as;

/// The parts of quoting messages, by text.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    pieces: HashMap<String, Vec<QuoteSegment>>,
}

/// A piece of one message.
#[derive(Debug)]
struct QuoteSegment {
    /// The message.
    whole: usize,
    /// The agent that the tag before it names; `None` for the start, which is its sender's.
    from: Option<String>,
    /// The agents that have read it. Each recipient reads it once.
    taken: Vec<String>,
}

impl Quotes {
    /// Adds the parts of a message, if it quotes.
    pub fn add(&mut self, whole: usize, text: &str) {
        if !text.contains("teammate-message") {
            return;
        }
        let pieces = read_as("", text);
        // With one part, it is the message itself.
        for (number, piece) in pieces.iter().enumerate().filter(|_| pieces.len() > 1) {
            let from = (number > 0).then(|| piece.from.clone());
            let piece_of = QuoteSegment { whole, from, taken: Vec::new() };
            self.pieces.entry(bare(&piece.text)).or_default().push(piece_of);
        }
    }

    /// The message that this copy is a part of. Each part matches one copy.
    pub fn explain(&mut self, copy: &Copy<'_>, drafts: &[MessageCandidate]) -> Option<usize> {
        if self.pieces.is_empty() {
            return None;
        }
        let piece = self.pieces.get_mut(&bare(copy.text))?.iter_mut().find(|piece| {
            let whole = &drafts[piece.whole];
            let named =
                piece.from.as_ref().map_or_else(|| whole.is_from(copy.from), |from| from == copy.from);
            named && whole.is_for(copy.recipient) && !piece.taken.iter().any(|taken| taken == copy.recipient)
        })?;
        piece.taken.push(copy.recipient.to_owned());
        Some(piece.whole)
    }
}

fn bare(text: &str) -> String {
    text.trim().trim_end_matches("</teammate-message>").trim().to_owned()
}
