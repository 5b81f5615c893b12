//! Messages that were read late or never, and messages to unknown names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use teamkeep_model::words::{count, listed};

use super::scene::{Draft, Scene};
use super::stalls::millis;
use super::{IncidentKind, Remedy, Severity};
use crate::report::messages::{MessageRow, bare};
use crate::timeline::Entry;
use teamkeep_model::time::{Timestamp, duration};

/// A message that waited for its recipient, and until when.
pub(super) struct Waiting<'a> {
    pub message: &'a MessageRow,
    entry: &'a Entry,
    until: i64,
    /// Whether it was read then; otherwise its recipient left, or the run ended.
    is_read: bool,
}

/// The messages that waited for longer than the threshold, by recipient.
pub(super) fn unread(scene: &Scene<'_>) -> Vec<Draft> {
    let mut by_recipient: BTreeMap<&str, Vec<Waiting<'_>>> = BTreeMap::new();
    for (message, entry) in sent(scene) {
        let to = bare(&message.to);
        if let Some(waiting) = waiting(scene, message, entry, to) {
            by_recipient.entry(to).or_default().push(waiting);
        }
    }
    by_recipient.into_iter().map(|(to, waiting)| of_recipient(scene, to, &waiting)).collect()
}

/// Number of a recipient's first messages in the chain; the last one is in it, too.
const MAX_FIRST: usize = 4;

fn of_recipient(scene: &Scene<'_>, to: &str, waiting: &[Waiting<'_>]) -> Draft {
    let from = waiting.iter().map(|one| one.message.at.millis()).min().unwrap_or_default();
    let until = waiting.iter().map(|one| one.until).max().unwrap_or_default();
    let never = waiting.iter().filter(|one| !one.is_read).count();
    let severity = if never == 0 { Severity::Low } else { Severity::Medium };
    let mut draft = Draft::new(IncidentKind::UnreadMessage, severity, (from, until));
    draft.agent(to);
    waiting.iter().for_each(|one| draft.agent(&one.message.from));
    draft.counted = waiting.iter().map(|one| one.message.id.clone()).collect();
    let last = waiting.len().saturating_sub(1);
    for (_, one) in waiting.iter().enumerate().filter(|(place, _)| *place < MAX_FIRST || *place == last) {
        let about = one.message.summary.as_ref().map(|summary| format!(": {summary}")).unwrap_or_default();
        let read = if one.is_read { "read after" } else { "not read for" };
        let time = duration(one.until - one.message.at.millis());
        draft.step(one.entry, format!("{} wrote to {to}, {read} {time}{about}", one.message.from));
    }
    let longest = waiting.iter().map(|one| one.until - one.message.at.millis()).max().unwrap_or_default();
    let (messages, time) = (count(waiting.len(), "message"), duration(longest));
    let were = if waiting.len() == 1 { "was" } else { "were" };
    let lasts = scene.lasts(until);
    draft.summary = match never {
        0 => format!("{to} read {messages} late, up to {time} after it was sent"),
        _ if lasts => format!("{messages} to {to} {were} not read for up to {time}"),
        _ if never == waiting.len() => format!("{messages} to {to} {were} never read"),
        _ => format!("{messages} to {to} {were} read late or never"),
    };
    if lasts && never > 0 {
        draft.advise(format!("Ask {to} to read its messages, or send them to another agent"));
    }
    draft
}

/// The messages of agents that were sent to one recipient, each with its entry.
fn sent<'a>(scene: &Scene<'a>) -> Vec<(&'a MessageRow, &'a Entry)> {
    // Each message entry has one row, in the same order.
    let entries = scene.case.entries.iter().filter(|entry| entry.message().is_some());
    let rows = scene.mail.messages.iter().zip(entries);
    rows.filter(|(row, _)| !row.automatic && row.kind == "message" && row.to != "*" && !row.blocked).collect()
}

fn waiting<'a>(
    scene: &Scene<'a>,
    message: &'a MessageRow,
    entry: &'a Entry,
    to: &str,
) -> Option<Waiting<'a>> {
    // Without the recipient's transcript, it is unknown.
    if message.refused.is_some() || message.delivered.is_none() && !is_known_unread(scene, entry, to) {
        return None;
    }
    let at = message.at.millis();
    let read = message.read_at.map(Timestamp::millis);
    if message.delivered == Some(true) && read.is_none() {
        return None;
    }
    let presence = scene.presence(to);
    // It was sent in one of the recipient's stays, or after the last one.
    let left = presence.iter().find(|(from, until)| *from <= at && at <= *until).map(|(_, until)| until);
    let until = read.or(left).unwrap_or(scene.end).max(at);
    let is_long = until - at >= millis(scene.limits.unread);
    is_long.then_some(Waiting { message, entry, until, is_read: read.is_some() })
}

/// In a running team: whether the recipient's transcript does not have the message yet.
fn is_known_unread(scene: &Scene<'_>, entry: &Entry, to: &str) -> bool {
    let heard = entry.message().is_some_and(|message| message.heard_by.iter().any(|name| name == to));
    !scene.case.is_over() && scene.case.has_transcript(to) && !heard
}

/// The messages to names that no agent of the run ever had.
pub(super) fn unknown_recipients(scene: &Scene<'_>) -> Vec<Draft> {
    let known = known_names(scene);
    let mut found: HashMap<&str, Draft> = HashMap::new();
    for (message, entry) in sent(scene) {
        let to = bare(&message.to);
        if known.contains(to) || known.contains(message.to.as_str()) {
            continue;
        }
        let at = message.at.millis();
        let severity = if message.refused.is_some() { Severity::Low } else { Severity::Medium };
        let new = || Draft::new(IncidentKind::UnknownRecipient, severity, (at, at));
        let draft = found.entry(to).or_insert_with(new);
        draft.severity = draft.severity.min(severity);
        draft.span.1 = at;
        draft.agent(&message.from);
        let fate = if message.refused.is_some() { "was rejected" } else { "reached no agent" };
        draft.step(entry, format!("{} wrote to {to}; the message {fate}", message.from));
        draft.summary = format!(
            "{} wrote to {to}, but no agent has that name ({})",
            listed(&draft.agents),
            count(draft.chain.len(), "message")
        );
    }
    let mut found: Vec<Draft> = found.into_values().collect();
    for draft in found.iter_mut().filter(|_| !scene.case.is_over()) {
        let there = scene.case.team.present().map(|member| member.name.as_str());
        let others = there.filter(|name| !draft.agents.iter().any(|sender| sender == name));
        let others: Vec<&str> = others.take(MAX_NAMES).collect();
        draft.remedy = either(&others).map(|names| Remedy::Advice(format!("Send it to {names}")));
    }
    found
}

/// Number of agents that a remedy names.
const MAX_NAMES: usize = 8;

fn either(names: &[&str]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) })
}

/// The names and ids of all agents, and the words by which Claude Code addresses somebody without a name.
fn known_names<'a>(scene: &Scene<'a>) -> BTreeSet<&'a str> {
    let data = scene.case.data;
    let agents =
        data.events.iter().flat_map(|event| [event.actor().name.as_deref(), event.actor().id.as_deref()]);
    let transcripts = data.transcripts.all.iter().map(|transcript| transcript.by.as_str());
    let words = ["*", "main", "user", "unknown", "team-lead", scene.case.lead];
    agents.flatten().chain(transcripts).chain(scene.case.teammates()).chain(words).collect()
}
