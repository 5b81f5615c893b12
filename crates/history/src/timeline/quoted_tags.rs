//! A quirk before 2.1.328: a message that quotes Claude Code's tags looks, in the recipient's transcript, like messages of
//! the agents that the tags name.

use std::collections::HashMap;

use super::message_matcher::{MessageCandidate, MessageCopy};
use crate::transcript::read_as;

/// The parts of such messages, by text.
#[derive(Debug, Default)]
pub(super) struct QuotedTags {
    segments: HashMap<String, Vec<Segment>>,
}

#[derive(Debug)]
struct Segment {
    /// The index of the whole message.
    whole: usize,
    /// The agent that the tag before it names; `None` for the start, which is its sender's.
    from: Option<String>,
    /// The agents that have read it. Each recipient reads it once.
    read_by: Vec<String>,
}

impl QuotedTags {
    pub(super) fn add(&mut self, whole: usize, text: &str) {
        if !text.contains("teammate-message") {
            return;
        }
        let segments = read_as("", text);
        // With one part, it is the message itself.
        for (index, part) in segments.iter().enumerate().filter(|_| segments.len() > 1) {
            let from = (index > 0).then(|| part.from.clone());
            let segment = Segment { whole, from, read_by: Vec::new() };
            self.segments.entry(without_end_tag(&part.text)).or_default().push(segment);
        }
    }

    /// Finds the message that this copy is a part of. Each part matches one copy.
    pub(super) fn find(&mut self, copy: &MessageCopy<'_>, candidates: &[MessageCandidate]) -> Option<usize> {
        if self.segments.is_empty() {
            return None;
        }
        let segment = self.segments.get_mut(&without_end_tag(copy.text))?.iter_mut().find(|segment| {
            let whole = &candidates[segment.whole];
            let named =
                segment.from.as_ref().map_or_else(|| whole.is_from(copy.from), |from| from == copy.from);
            named
                && whole.is_for(copy.recipient)
                && !segment.read_by.iter().any(|reader| reader == copy.recipient)
        })?;
        segment.read_by.push(copy.recipient.to_owned());
        Some(segment.whole)
    }
}

fn without_end_tag(text: &str) -> String {
    text.trim().trim_end_matches("</teammate-message>").trim().to_owned()
}
