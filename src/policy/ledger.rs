//! What a team did so far, as far as a gate may ask: folded over its events, the same at a hook and in a back-test.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Judged;
use crate::payload::{Kind, Message, MessageKind};

/// What is remembered of a team's doings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// By member.
    pub members: BTreeMap<String, Deeds>,
    /// TaskUpdates to `completed` that have begun and not ended: id of the tool's use → task. A TaskCompleted for a task
    /// that is not here is the end of a turn, not a completion.
    pub completing: BTreeMap<String, String>,
    /// Tools that have begun and not ended, by the id of their use.
    pub begun: BTreeMap<String, Began>,
    /// Other words for a member: its agent ids, and the ids of its background tasks.
    pub handles: BTreeMap<String, String>,
    /// What each member was spawned for, as its background task is described (its [`mark`]); empty where two share the
    /// words.
    pub described: BTreeMap<String, String>,
    /// Whether the team ever had a task. The client erases all of them once all are done (2.1.328).
    pub tasked: bool,
    /// Whether the client tells the agent at a teammate's tools (from 2.1.69): where it tells none, the lead speaks.
    pub names_agents: bool,
}

/// What words are known by again: a notebook keeps no text.
pub(in crate::policy) fn mark(words: &str) -> String {
    blake3::hash(words.as_bytes()).to_hex()[..16].to_owned()
}

/// What is remembered of one member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Deeds {
    /// When it was last told something (spawned, given a task, sent a message), RFC 3339.
    pub told_at: Option<String>,
    /// When it last sent a message to anybody.
    pub said_at: Option<String>,
    /// Whether that message asked something.
    pub asked: bool,
    /// Whether a turn of it has begun and not ended.
    pub turn: bool,
    /// Whether a turn of it was ever seen to begin: where none was, that none is open says nothing.
    pub turned: bool,
    /// Whether it was asked to stop, and has not answered.
    pub stopping: bool,
    /// Whether that request was let through a gate (escalated, paused, allowed): its approval is then no breach.
    pub let_go: bool,
}

/// A tool that has begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Began {
    /// When: what it says was said then, and not when the tool came back.
    pub at: String,
    /// Whose it is, where that is known.
    pub by: Option<String>,
}

impl Ledger {
    /// What a member did; nothing, where nobody of that name did anything.
    pub fn of(&self, name: &str) -> Deeds {
        self.members.get(name).cloned().unwrap_or_default()
    }

    /// The member that a word means: its name, `@name`, `name@team`, its agent id, or the id of its background task.
    pub fn named<'a>(&'a self, word: &'a str) -> &'a str {
        if let Some(name) = self.handles.get(word) {
            return name;
        }
        let word = word.trim().trim_start_matches('@');
        let word = word.split_once('@').map_or(word, |(name, _)| name);
        spelled(word, || self.members.keys().map(String::as_str)).unwrap_or(word)
    }

    /// Remembers that somebody may stop: the approval of a request that was let through is no breach. Of everybody who
    /// was asked only those who are `meant`.
    pub fn let_go(&mut self, event: &Judged<'_>, meant: impl Fn(&str) -> bool) {
        let sender = event.actor.name.as_deref();
        let names: Vec<String> = match asked_to_stop(event).as_deref() {
            Some("*") => {
                let others = self.members.keys().filter(|name| Some(name.as_str()) != sender);
                others.filter(|name| meant(name)).cloned().collect()
            }
            Some(to) => vec![self.named(to).to_owned()],
            None => Vec::new(),
        };
        for name in names {
            self.members.entry(name).or_default().let_go = true;
        }
    }
}

impl Deeds {
    /// Whether it was told something after its last message.
    pub fn owes_report(&self) -> bool {
        self.told_at.is_some() && self.said_at < self.told_at
    }

    /// Whether it asked something, and was told nothing since.
    pub fn awaits_answer(&self) -> bool {
        self.asked && self.said_at.is_some() && self.said_at >= self.told_at
    }
}

/// The name that a word means, as it is spelled among the known ones: the same, else the one that differs in case alone.
/// Whether the client tells them apart is not known; who is asked to stop by either is asked.
pub fn spelled<'a, I: Iterator<Item = &'a str>>(word: &str, known: impl Fn() -> I) -> Option<&'a str> {
    let folded = || word.to_lowercase();
    known().find(|name| *name == word).or_else(|| {
        let word = folded();
        known().find(|name| name.to_lowercase() == word)
    })
}

/// Whom this event asks to stop.
fn asked_to_stop(event: &Judged<'_>) -> Option<String> {
    if event.kind != Kind::PreToolUse || event.payload.tool() != Some("SendMessage") {
        return None;
    }
    let message = Message::of(event.payload.tool_input(), event.payload.tool_response())?;
    (message.kind == MessageKind::ShutdownRequest).then_some(message.to).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Actor;
    use crate::payload::Payload;

    /// Who may stop after the lead's request to `to` went out.
    fn free(to: &str, meant: impl Fn(&str) -> bool) -> Vec<String> {
        let fields = json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage",
            "tool_input": {"to": to, "message": {"type": "shutdown_request", "reason": "done"}}});
        let payload = Payload::from_raw(&serde_json::value::to_raw_value(&fields).unwrap());
        let (actor, kind) = (Actor::lead(), payload.kind());
        let event = Judged { id: "e", at: "2026", kind, session: None, actor: &actor, payload: &payload };
        let mut ledger = Ledger::default();
        for name in ["alice", "bob", "team-lead"] {
            ledger.members.insert(name.to_owned(), Deeds::default());
        }
        ledger.handles.insert("abob-1".to_owned(), "bob".to_owned());
        ledger.let_go(&event, meant);
        let free = ledger.members.into_iter().filter(|(_, deeds)| deeds.let_go);
        free.map(|(name, _)| name).collect()
    }

    #[test]
    fn who_is_asked_may_stop_by_whatever_word() {
        for to in ["bob", "@bob", "bob@t1", " bob", "abob-1"] {
            assert_eq!(free(to, |_| true), ["bob"], "{to}");
        }
        assert_eq!(free("*", |_| true), ["alice", "bob"]);
        assert_eq!(free("*", |name| name == "bob"), ["bob"]);
    }
}
