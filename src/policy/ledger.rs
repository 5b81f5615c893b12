//! What a team did so far, as far as a gate may ask: folded over its events, the same at a hook and in a back-test.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Decision, Finding, Judged, Verdict};
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
    /// What each member was spawned for, as its background task is described; empty where two share the words.
    pub described: BTreeMap<String, String>,
    /// Whether the team ever had a task. The client erases all of them once all are done (2.1.328).
    pub tasked: bool,
    /// Whether the client tells the agent at a teammate's tools (from 2.1.69): where it tells none, the lead speaks.
    pub names_agents: bool,
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
        word.split_once('@').map_or(word, |(name, _)| name)
    }

    /// Takes in what became of a finding. A shutdown request that was let through is answered without a breach; the
    /// approval of one that never was a finding is judged for itself.
    pub fn settled(&mut self, event: &Judged<'_>, finding: &Finding, verdict: &Verdict) {
        let asks = || {
            let message = Message::of(event.payload.tool_input(), event.payload.tool_response());
            message.is_some_and(|message| message.kind == MessageKind::ShutdownRequest)
        };
        let lets = finding.gate == super::gates::PREMATURE_SHUTDOWN && verdict.decision != Decision::Block;
        if lets && event.kind == Kind::PreToolUse && asks() {
            self.members.entry(finding.about.clone()).or_default().let_go = true;
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
