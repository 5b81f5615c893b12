//! What a team did so far, as far as a gate may ask: folded over its events, the same at a hook and in a back-test.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Judged, Sent};
use crate::payload::{Kind, MessageKind};
use crate::team::{reached, spelled, without_reference};
use crate::unicode::{fold, is_invisible};

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
    /// Who was spawned for what, as its background task is described (the [`mark`] of the words): several may share them.
    pub spawned_for: BTreeMap<String, Vec<String>>,
    /// Background tasks that are teammates, but which ones is not known: id → the [`mark`] of its description.
    pub background: BTreeMap<String, String>,
    /// Who was seen to leave, and was not spawned again: whatever is left of its work, nobody can stop it in it.
    pub left: BTreeSet<String>,
    /// How many things were noted so far: what came before what is told by this, as a clock may be set back.
    pub order: u64,
    /// Whether the team ever had a task. The client erases all of them once all are done (2.1.328).
    pub tasked: bool,
    /// Whether the client tells the agent at a teammate's tools (from 2.1.69): where it tells none, the lead speaks.
    pub names_agents: bool,
}

/// What words are known by again: a notebook keeps no text.
pub(in crate::policy) fn mark(words: &str) -> String {
    blake3::hash(words.as_bytes()).to_hex()[..16].to_owned()
}

/// The longest name or id that is kept, in bytes: no member's and no tool's is as long.
const LONGEST: usize = 256;

/// Whether a name or an id may be kept: one payload must not make the notebook too large to be read again.
pub(super) fn fits(word: &str) -> bool {
    word.len() <= LONGEST
}

/// What is remembered of one member. Each number is a place in the order of things ([`Ledger::order`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Deeds {
    /// When it was last told something (spawned, given a task, sent a message), by whom; empty where that is not known.
    pub told_by: BTreeMap<String, u64>,
    /// When it last sent a message to anybody.
    pub said: Option<u64>,
    /// Whom it asked something, and when; `*` for everybody.
    pub asked: BTreeMap<String, u64>,
    /// Whether a turn of it has begun and not ended.
    pub turn: bool,
    /// Whether a turn of it was ever seen to begin: where none was, that none is open says nothing.
    pub turned: bool,
    /// When its turn was first seen, or could first have begun.
    pub since: Option<u64>,
    /// That of its last turn, where it went idle after it: what it was told later is delivered with the next.
    pub idle: Option<u64>,
    /// Whether it was asked to stop, and has not answered.
    pub stopping: bool,
    /// Whether that request was let through a gate (escalated, paused, allowed): its approval is then no breach.
    pub let_go: bool,
}

/// A tool that has begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Began {
    /// Its place in the order of things: what it says was said then, and not when the tool came back.
    pub order: u64,
    /// Whose it is, where that is known.
    pub by: Option<String>,
    /// The teammate that it spawns, and when that began (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawns: Option<(String, String)>,
    /// Whom it lets go, if it comes to something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frees: Vec<String>,
}

/// How many people's words to one member, and its questions, are kept apart.
const MOST_TOLD: usize = 32;

/// The deeds of a member that did nothing.
static NOTHING: Deeds = Deeds {
    told_by: BTreeMap::new(),
    said: None,
    asked: BTreeMap::new(),
    turn: false,
    turned: false,
    since: None,
    idle: None,
    stopping: false,
    let_go: false,
};

impl Ledger {
    /// What a member did; nothing, where nobody of that name did anything.
    pub fn of(&self, name: &str) -> &Deeds {
        self.members.get(name).unwrap_or(&NOTHING)
    }

    /// The member that a word means: its name, `@name`, `name@team`, its agent id, or the id of its background task.
    pub fn named<'a>(&'a self, word: &'a str) -> &'a str {
        let name = self.bare(word);
        spelled(name, || self.members.keys().map(String::as_str)).unwrap_or(name)
    }

    /// The member that receives a message to this name.
    pub fn reached<'a>(&'a self, word: &'a str) -> &'a str {
        let name = self.bare(without_reference(word));
        reached(name, || self.members.keys().map(String::as_str)).unwrap_or(name)
    }

    /// The name in such a word, in its own spelling.
    pub fn bare<'a>(&'a self, word: &'a str) -> &'a str {
        let folded = || match fold(word) {
            Cow::Borrowed(_) => None,
            Cow::Owned(word) => self.handles.get(&word),
        };
        if let Some(name) = self.handles.get(word).or_else(folded) {
            return name;
        }
        let is_at = |c: char| matches!(c, '@' | '＠' | '﹫');
        let is_blank = |c: char| c.is_whitespace() || is_invisible(c);
        let word = word.trim_matches(is_blank).trim_start_matches(is_at);
        word.split_once(is_at).map_or(word, |(name, _)| name)
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
            Some(to) => vec![self.reached(to).to_owned()],
            None => Vec::new(),
        };
        let names = names.into_iter().filter(|name| fits(name));
        let mut begun = event.payload.tool_use_id().and_then(|id| self.begun.get_mut(id));
        for name in names {
            let deeds = self.members.entry(name.clone()).or_default();
            if !std::mem::replace(&mut deeds.let_go, true)
                && let Some(began) = &mut begun
            {
                began.frees.push(name);
            }
        }
    }
}

impl Deeds {
    /// Notes that somebody told it something.
    pub(super) fn tell(&mut self, by: &str, order: u64) {
        note(&mut self.told_by, by, order);
    }

    /// Notes that it asked somebody something.
    pub(super) fn ask(&mut self, whom: &str, order: u64) {
        note(&mut self.asked, whom, order);
    }

    /// When it was last told something.
    pub fn told(&self) -> Option<u64> {
        self.told_by.values().max().copied()
    }

    /// Whether it was told something after its last message.
    pub fn owes_report(&self) -> bool {
        self.told().is_some() && self.said < self.told()
    }

    /// Whether it asked something, and waits for an answer.
    pub fn awaits_answer(&self) -> bool {
        self.awaits().next().is_some()
    }

    /// Whom it asked something that told it nothing since. What it was told by nobody knows whom may be the answer, and
    /// anybody answers what everybody (`*`) was asked.
    pub fn awaits(&self) -> impl Iterator<Item = &str> {
        let told = |by: &str| self.told_by.get(by).copied();
        let answer = move |whom: &str| if whom == "*" { self.told() } else { told(whom).max(told("")) };
        let open = self.asked.iter().filter(move |(whom, at)| answer(whom) < Some(**at));
        open.map(|(whom, _)| whom.as_str())
    }
}

/// Keeps the last place of each name, and not of too many.
fn note(places: &mut BTreeMap<String, u64>, name: &str, order: u64) {
    let place = places.entry(name.to_owned()).or_default();
    *place = order.max(*place);
    if places.len() > MOST_TOLD {
        let first = places.iter().min_by_key(|(_, place)| **place).map(|(name, _)| name.clone());
        first.map(|name| places.remove(&name));
    }
}

/// Whom this event asks to stop.
fn asked_to_stop(event: &Judged<'_>) -> Option<String> {
    if event.kind != Kind::PreToolUse || event.payload.tool() != Some("SendMessage") {
        return None;
    }
    let message = Sent::of(event.payload)?.message;
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
        for to in [
            "bob",
            "@bob",
            "bob@t1",
            " bob",
            "abob-1",
            "b\u{200b}ob",
            "＠ｂｏｂ＠t1",
            "\u{2066}@bob",
            "abob-1\u{ad}",
        ] {
            assert_eq!(free(to, |_| true), ["bob"], "{to}");
        }
        assert_eq!(free("*", |_| true), ["alice", "bob"]);
        assert_eq!(free("*", |name| name == "bob"), ["bob"]);
    }
}
