//! The history of a team that gates need, folded over its events. A hook call and a backtest fold it in the same way.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Judged, Sent};
use crate::model::Tool;
use crate::payload::{Kind, MessageKind};
use crate::team::{reached, spelled, without_reference};
use crate::unicode::{fold, is_invisible};

/// The history of one team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// By member.
    pub members: BTreeMap<String, MemberActivity>,
    /// TaskUpdates to `completed` that have started and not returned: tool_use_id → task. A TaskCompleted for any
    /// other task reports the end of a turn.
    pub completing: BTreeMap<String, String>,
    /// Tool calls that have started and not returned, by tool_use_id.
    pub begun: BTreeMap<String, PendingToolCall>,
    /// Other names of a member: its agent ids, and the ids of its background tasks.
    pub handles: BTreeMap<String, String>,
    /// Members by the description of their spawn (its [`mark`]). Several can share one.
    pub spawned_for: BTreeMap<String, Vec<String>>,
    /// Background tasks of unknown teammates: id → the [`mark`] of its description.
    pub background: BTreeMap<String, String>,
    /// Members that left and were not spawned again. They cannot be stopped, whatever work is left.
    pub left: BTreeSet<String>,
    /// Number of recorded steps. It orders events even if the clock is set back.
    pub order: u64,
    /// Whether the team ever had a task. Claude Code 2.1.328 deletes all of them when all are completed.
    pub tasked: bool,
    /// Whether Claude Code names the agent of a teammate's tool call (since 2.1.69). Where it does, a call without an
    /// agent is the lead's.
    pub names_agents: bool,
}

/// A short hash, so that the ledger stores no text.
pub(in crate::policy) fn mark(words: &str) -> String {
    blake3::hash(words.as_bytes()).to_hex()[..16].to_owned()
}

/// Maximum length in bytes of a stored name or id. Real ones are shorter.
const MAX_CHARS: usize = 256;

/// Whether a name or id can be stored. One payload must not make the ledger too large to be read again.
pub(super) fn fits(word: &str) -> bool {
    word.len() <= MAX_CHARS
}

/// The history of one member. Each number is a position in [`Ledger::order`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberActivity {
    /// The last instruction from each agent (spawn, task or message); the key is empty if the agent is unknown.
    pub told_by: BTreeMap<String, u64>,
    /// The last message that it sent.
    pub said: Option<u64>,
    /// Its last question to each agent; `*` for everyone.
    pub asked: BTreeMap<String, u64>,
    /// Whether a turn has started and not ended.
    pub turn: bool,
    /// Whether a start of a turn was ever seen. Without one, `turn` means nothing.
    pub turned: bool,
    /// When its turn was first seen, or could first have started.
    pub since: Option<u64>,
    /// The start of its last turn, if it went idle afterwards. Later messages are delivered with the next turn.
    pub idle: Option<u64>,
    /// Whether a shutdown request to it is open.
    pub stopping: bool,
    /// Whether a gate allowed that request (by the loop guard, a pause or an allowance): its approval is then allowed.
    #[serde(rename = "let_go")]
    pub approved_shutdown: bool,
}

/// A tool that has begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PendingToolCall {
    /// Position at which it started. Its messages count as sent then, not when the tool returned.
    pub order: u64,
    /// The caller, if known.
    pub by: Option<String>,
    /// The teammate that it spawns, and the start time (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawns: Option<(String, String)>,
    /// The members that may shut down if the call succeeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frees: Vec<String>,
}

/// Maximum number of agents kept apart in a member's instructions and questions.
const MOST_TOLD: usize = 32;

/// The history of a member without any.
static NOTHING: MemberActivity = MemberActivity {
    told_by: BTreeMap::new(),
    said: None,
    asked: BTreeMap::new(),
    turn: false,
    turned: false,
    since: None,
    idle: None,
    stopping: false,
    approved_shutdown: false,
};

impl Ledger {
    /// The history of a member; empty for an unknown one.
    pub fn of(&self, name: &str) -> &MemberActivity {
        self.members.get(name).unwrap_or(&NOTHING)
    }

    /// The member that a word refers to: a name, `@name`, `name@team`, an agent id, or the id of a background task.
    pub fn named<'a>(&'a self, word: &'a str) -> &'a str {
        let name = self.strip_team(word);
        spelled(name, || self.members.keys().map(String::as_str)).unwrap_or(name)
    }

    /// The member that receives a message to this name.
    pub fn reached<'a>(&'a self, word: &'a str) -> &'a str {
        let name = self.strip_team(without_reference(word));
        reached(name, || self.members.keys().map(String::as_str)).unwrap_or(name)
    }

    /// The name in such a word, in its own spelling.
    pub fn strip_team<'a>(&'a self, word: &'a str) -> &'a str {
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

    /// Records that the recipients of an allowed shutdown request may approve it. Of a request to everyone, only those
    /// that `meant` accepts.
    pub fn approve_shutdown(&mut self, event: &Judged<'_>, meant: impl Fn(&str) -> bool) {
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
            let activity = self.members.entry(name.clone()).or_default();
            if !std::mem::replace(&mut activity.approved_shutdown, true)
                && let Some(began) = &mut begun
            {
                began.frees.push(name);
            }
        }
    }
}

impl MemberActivity {
    /// Records an instruction from another agent.
    pub(super) fn tell(&mut self, by: &str, order: u64) {
        note(&mut self.told_by, by, order);
    }

    /// Records a question to another agent.
    pub(super) fn ask(&mut self, whom: &str, order: u64) {
        note(&mut self.asked, whom, order);
    }

    /// The last instruction.
    pub fn last_instruction(&self) -> Option<u64> {
        self.told_by.values().max().copied()
    }

    /// Whether it had an instruction after its last message.
    pub fn has_unreported_work(&self) -> bool {
        self.last_instruction().is_some() && self.said < self.last_instruction()
    }

    /// Whether a question of its own has no answer yet.
    pub fn awaits_answer(&self) -> bool {
        self.awaits_answer_from().next().is_some()
    }

    /// The agents whose answer it waits for. An instruction from an unknown agent may be the answer, and anyone
    /// answers a question to everyone (`*`).
    pub fn awaits_answer_from(&self) -> impl Iterator<Item = &str> {
        let told = |by: &str| self.told_by.get(by).copied();
        let answer =
            move |whom: &str| if whom == "*" { self.last_instruction() } else { told(whom).max(told("")) };
        let open = self.asked.iter().filter(move |(whom, at)| answer(whom) < Some(**at));
        open.map(|(whom, _)| whom.as_str())
    }
}

/// Keeps the last position of each name, for a limited number of names.
fn note(places: &mut BTreeMap<String, u64>, name: &str, order: u64) {
    let place = places.entry(name.to_owned()).or_default();
    *place = order.max(*place);
    if places.len() > MOST_TOLD {
        let first = places.iter().min_by_key(|(_, place)| **place).map(|(name, _)| name.clone());
        first.map(|name| places.remove(&name));
    }
}

/// The recipient of a shutdown request.
fn asked_to_stop(event: &Judged<'_>) -> Option<String> {
    if event.kind != Kind::PreToolUse || event.payload.tool() != Some(Tool::SendMessage) {
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

    /// The members that may approve after the lead's request to `to` was sent.
    fn free(to: &str, meant: impl Fn(&str) -> bool) -> Vec<String> {
        let fields = json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage",
            "tool_input": {"to": to, "message": {"type": "shutdown_request", "reason": "done"}}});
        let payload = Payload::from_raw(&serde_json::value::to_raw_value(&fields).unwrap());
        let (actor, kind) = (Actor::lead(), payload.kind());
        let event = Judged { id: "e", at: "2026", kind, session: None, actor: &actor, payload: &payload };
        let mut ledger = Ledger::default();
        for name in ["alice", "bob", "team-lead"] {
            ledger.members.insert(name.to_owned(), MemberActivity::default());
        }
        ledger.handles.insert("abob-1".to_owned(), "bob".to_owned());
        ledger.approve_shutdown(&event, meant);
        let free = ledger.members.into_iter().filter(|(_, activity)| activity.approved_shutdown);
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
