//! What was said: every message once, and who said how much to whom.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::Case;
use crate::timeline::{Entry, Kind};
use crate::veil;

/// What was said in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// Every message, the client's own included, by time.
    pub messages: Vec<Letter>,
    /// What each sender said, the client's own notices not counted.
    pub by_sender: Vec<Sender>,
    /// The same by sender and recipient.
    pub by_pair: Vec<Pair>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// When it was sent, RFC 3339.
    pub at: String,
    /// Who sent it.
    pub from: String,
    /// To whom; `*` for everybody.
    pub to: String,
    /// The client's word for its kind.
    pub kind: String,
    /// How long its text is, in characters.
    pub chars: usize,
    /// Its summary.
    pub summary: Option<String>,
    /// Its text.
    pub text: String,
    /// Whether the client sent it by itself.
    pub automatic: bool,
    /// Whether the recipient read it; `None` where no transcript of the recipient is on record.
    pub delivered: Option<bool>,
    /// Why it was not sent, if it was refused.
    pub refused: Option<String>,
}

/// How much somebody said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// Who.
    pub from: String,
    /// How many messages.
    pub messages: usize,
    /// How many characters.
    pub chars: usize,
}

/// How much somebody said to somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Who.
    pub from: String,
    /// To whom.
    pub to: String,
    /// How many messages.
    pub messages: usize,
    /// How many characters.
    pub chars: usize,
}

/// Collects it.
pub fn mail(case: &Case<'_>) -> Mail {
    let messages: Vec<Letter> = case.entries.iter().filter_map(|entry| letter(case, entry)).collect();
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
    Mail { messages, by_sender, by_pair }
}

fn letter(case: &Case<'_>, entry: &Entry) -> Option<Letter> {
    let kinds = [
        Kind::Message,
        Kind::MessageRefused,
        Kind::ShutdownRequested,
        Kind::ShutdownApproved,
        Kind::ShutdownRejected,
    ];
    if !kinds.contains(&entry.kind) {
        return None;
    }
    let to = entry.to.clone().unwrap_or_else(|| "unknown".to_owned());
    let text = entry.text.clone().unwrap_or_default();
    let delivered = match to.as_str() {
        _ if entry.refusal.is_some() => Some(false),
        "*" => case.is_heard_by_any().then_some(!entry.heard_by.is_empty()),
        to => case.is_heard(bare(to)).then(|| entry.heard_by.iter().any(|name| name == bare(to))),
    };
    // In a run that is alive it may still be read.
    let over = case.is_over() || entry.refusal.is_some();
    let delivered = delivered.filter(|delivered| *delivered || over);
    // The missing events may have had the members and the deliveries.
    let missing = case.material.missing_until.as_ref().is_some_and(|until| entry.at <= *until);
    let delivered = delivered.filter(|delivered| *delivered || entry.refusal.is_some() || !missing);
    Some(Letter {
        at: entry.at.clone(),
        from: entry.actor.clone(),
        kind: entry.message.clone().unwrap_or_else(|| "message".to_owned()),
        chars: veil::size_of(&text).unwrap_or_else(|| text.chars().count()),
        summary: entry.summary.clone(),
        automatic: entry.automatic,
        refused: entry.refusal.clone(),
        to,
        text,
        delivered,
    })
}

/// A name without the team that may stand behind it.
fn bare(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

impl Case<'_> {
    fn is_heard_by_any(&self) -> bool {
        self.teammates().any(|name| self.is_heard(name))
    }
}
