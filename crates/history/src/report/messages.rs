//! The messages of a run, each once, and how many each agent sent to whom.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use crate::timeline::Entry;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::Natural;
use teamkeep_store::metadata_only;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageStats {
    pub messages: Vec<MessageRow>,
    pub by_sender: Vec<Sender>,
    pub by_pair: Vec<Pair>,
    /// A message that was read this long after it was sent was read late, in milliseconds.
    pub late_after_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRow {
    /// See [`Entry::id`]: the steps of incidents refer to it.
    #[serde(default)]
    pub id: String,
    pub at: Timestamp,
    pub from: String,
    pub to: String,
    pub kind: String,
    pub chars: usize,
    pub summary: Option<String>,
    pub text: String,
    /// The answer that an idle notice delivers: the final text of the agent's turn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<String>,
    pub automatic: bool,
    /// Whether the recipient read it; `None` without a transcript of the recipient.
    pub delivered: Option<bool>,
    /// When its one recipient read it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub read_at: Option<Timestamp>,
    pub refused: Option<String>,
    /// Whether a gate or rule of teamkeep blocked it; Claude Code or another hook rejected other unsent messages.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub blocked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    pub from: String,
    pub messages: usize,
    pub chars: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    pub from: String,
    pub to: String,
    pub messages: usize,
    pub chars: usize,
}

pub(super) fn mail(case: &ReportInput<'_>, late_after_ms: i64) -> MessageStats {
    let first_read = first_read(case);
    let rows = case.entries.iter().filter_map(|entry| message(case, entry, &first_read));
    let messages: Vec<MessageRow> = rows.collect();
    let mut senders: BTreeMap<Natural<'_>, (usize, usize)> = BTreeMap::new();
    let mut pairs: BTreeMap<(Natural<'_>, Natural<'_>), (usize, usize)> = BTreeMap::new();
    for message in messages.iter().filter(|message| !message.automatic && message.refused.is_none()) {
        let sums = [
            senders.entry(Natural(&message.from)).or_default(),
            pairs.entry((Natural(&message.from), Natural(&message.to))).or_default(),
        ];
        for (messages, chars) in sums {
            *messages += 1;
            *chars += message.chars;
        }
    }
    let mut by_sender: Vec<Sender> = (senders.into_iter())
        .map(|(from, (messages, chars))| Sender { from: from.0.to_owned(), messages, chars })
        .collect();
    let mut by_pair: Vec<Pair> = (pairs.into_iter())
        .map(|((from, to), (messages, chars))| Pair {
            from: from.0.to_owned(),
            to: to.0.to_owned(),
            messages,
            chars,
        })
        .collect();
    by_sender.sort_by_key(|sender| std::cmp::Reverse(sender.messages));
    by_pair.sort_by_key(|pair| std::cmp::Reverse(pair.messages));
    MessageStats { messages, by_sender, by_pair, late_after_ms }
}

/// When each recipient first read each text. The texts are trimmed.
type FirstRead<'a> = HashMap<(&'a str, &'a str), Timestamp>;

fn first_read<'a>(case: &ReportInput<'a>) -> FirstRead<'a> {
    let mut first = HashMap::new();
    for one in &case.data.transcripts.delivered {
        let Some(at) = case.to_local(one.at) else { continue };
        let known = first.entry((one.transcript.by.as_str(), one.message.text.trim())).or_insert(at);
        *known = at.min(*known);
    }
    first
}

fn message(case: &ReportInput<'_>, entry: &Entry, first_read: &FirstRead<'_>) -> Option<MessageRow> {
    let message = entry.message()?;
    let to = message.to.clone().unwrap_or_else(|| "unknown".to_owned());
    let text = message.text.clone();
    let delivered = match to.as_str() {
        _ if message.refusal.is_some() => Some(false),
        "*" => case.teammates().any(|name| case.has_transcript(name)).then_some(!message.heard_by.is_empty()),
        to => case.has_transcript(bare(to)).then(|| message.heard_by.iter().any(|name| name == bare(to))),
    };
    // In a running team a message can still be read.
    let over = case.is_over() || message.refusal.is_some();
    let delivered = delivered.filter(|delivered| *delivered || over);
    // The missing events may have had the members and the deliveries.
    let missing = case.data.missing_until.as_ref().is_some_and(|until| entry.at <= *until);
    let delivered = delivered.filter(|delivered| *delivered || message.refusal.is_some() || !missing);
    let read = first_read.get(&(bare(&to), text.trim())).filter(|_| delivered == Some(true));
    let read_at = read.map(|at| (*at).max(entry.at));
    Some(MessageRow {
        id: entry.id(),
        at: entry.at,
        from: entry.actor.clone(),
        kind: message.word.clone(),
        chars: metadata_only::byte_len(&text).unwrap_or_else(|| text.chars().count()),
        summary: message.summary.clone(),
        answer: message.answer.as_ref().map(|answer| answer.text.clone()),
        automatic: message.automatic,
        refused: message.refusal.clone(),
        blocked: message.blocked_event.is_some(),
        to,
        text,
        delivered,
        read_at,
    })
}

pub(super) fn bare(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}
