//! The messages of a run, each once, and how many each agent sent to whom.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use crate::metadata_only;
use crate::policy;
use crate::timeline::Entry;

/// The messages of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageStats {
    /// Every message by time, including automatic ones.
    pub messages: Vec<MessageRow>,
    /// The sums by sender, without automatic messages.
    pub by_sender: Vec<Sender>,
    /// The sums by sender and recipient.
    pub by_pair: Vec<Pair>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRow {
    /// When it was sent, RFC 3339.
    pub at: String,
    /// Who sent it.
    pub from: String,
    /// The recipient; `*` for everyone.
    pub to: String,
    /// Claude Code's word for its kind.
    pub kind: String,
    /// The length of its text in characters.
    pub chars: usize,
    /// Its summary.
    pub summary: Option<String>,
    /// Its text.
    pub text: String,
    /// Whether Claude Code sent it automatically.
    pub automatic: bool,
    /// Whether the recipient read it; `None` without a transcript of the recipient.
    pub delivered: Option<bool>,
    /// Why it was not sent, if it was blocked or rejected.
    pub refused: Option<String>,
}

/// The messages of one sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The sender.
    pub from: String,
    /// Number of messages.
    pub messages: usize,
    /// Number of characters.
    pub chars: usize,
}

/// The messages from one agent to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The sender.
    pub from: String,
    /// The recipient.
    pub to: String,
    /// Number of messages.
    pub messages: usize,
    /// Number of characters.
    pub chars: usize,
}

/// Collects the messages.
pub fn mail(case: &ReportInput<'_>) -> MessageStats {
    let messages: Vec<MessageRow> = case.entries.iter().filter_map(|entry| message(case, entry)).collect();
    let mut senders: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut pairs: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for message in messages.iter().filter(|message| !message.automatic && message.refused.is_none()) {
        let sums = [
            senders.entry(&message.from).or_default(),
            pairs.entry((&message.from, &message.to)).or_default(),
        ];
        for (messages, chars) in sums {
            *messages += 1;
            *chars += message.chars;
        }
    }
    let sender = |(from, (messages, chars)): (&str, _)| Sender { from: from.to_owned(), messages, chars };
    let pair = |((from, to), (messages, chars)): ((&str, &str), _)| Pair {
        from: from.to_owned(),
        to: to.to_owned(),
        messages,
        chars,
    };
    let mut by_sender: Vec<Sender> = senders.into_iter().map(sender).collect();
    let mut by_pair: Vec<Pair> = pairs.into_iter().map(pair).collect();
    by_sender.sort_by_key(|sender| std::cmp::Reverse(sender.messages));
    by_pair.sort_by_key(|pair| std::cmp::Reverse(pair.messages));
    MessageStats { messages, by_sender, by_pair }
}

fn message(case: &ReportInput<'_>, entry: &Entry) -> Option<MessageRow> {
    let message = entry.message()?;
    let to = message.to.clone().unwrap_or_else(|| "unknown".to_owned());
    let text = message.text.clone();
    let delivered = match to.as_str() {
        _ if message.refusal.is_some() => Some(false),
        "*" => case.is_heard_by_any().then_some(!message.heard_by.is_empty()),
        to => case.is_heard(bare(to)).then(|| message.heard_by.iter().any(|name| name == bare(to))),
    };
    // In a running team a message can still be read.
    let over = case.is_over() || message.refusal.is_some();
    let delivered = delivered.filter(|delivered| *delivered || over);
    // The missing events may have had the members and the deliveries.
    let missing = case.material.missing_until.as_ref().is_some_and(|until| entry.at <= *until);
    let delivered = delivered.filter(|delivered| *delivered || message.refusal.is_some() || !missing);
    Some(MessageRow {
        at: entry.at.clone(),
        from: entry.actor.clone(),
        kind: message.word.clone(),
        chars: metadata_only::byte_len(&text).unwrap_or_else(|| text.chars().count()),
        summary: message.summary.clone(),
        automatic: message.automatic,
        refused: message.refusal.clone(),
        to,
        text,
        delivered,
    })
}

impl MessageRow {
    /// Whether a gate or rule of teamkeep blocked it; Claude Code or another hook rejected other unsent messages.
    pub fn is_blocked(&self) -> bool {
        self.refused.as_deref().is_some_and(|why| policy::without_prefix(why) != why)
    }
}

/// A name without its team.
pub fn bare(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

impl ReportInput<'_> {
    fn is_heard_by_any(&self) -> bool {
        self.teammates().any(|name| self.is_heard(name))
    }
}
