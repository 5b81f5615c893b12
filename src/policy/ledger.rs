//! What a team did so far, as far as a gate may ask: folded over its events, the same at a hook and in a back-test.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Judged;

/// What is remembered of a team's doings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// By member.
    pub members: BTreeMap<String, Deeds>,
    /// TaskUpdates to `completed` that have begun and not ended: id of the tool's use → task. A TaskCompleted for a task
    /// that is not here is the end of a turn, not a completion.
    pub completing: BTreeMap<String, String>,
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
    /// Whether it was asked to stop, and has not answered.
    pub stopping: bool,
    /// Whether that request was let through a gate (escalated, paused, allowed): its approval is then no breach.
    pub let_go: bool,
}

impl Ledger {
    /// Takes in an event that happened: one that was not blocked.
    pub fn observe(&mut self, _event: &Judged<'_>) {}
}
