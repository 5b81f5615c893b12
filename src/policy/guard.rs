//! The loop guard: prevents live-locks. A gate that has blocked the same actor often enough in the same state of the
//! work allows the action. Only a `lasting` rule keeps blocking, and only a tool call, which is not a lock. Because
//! states can alternate forever, there is also a limit over all states until more tasks are completed. A block counts
//! only if the model has read it ([`Refusals`]).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, Origin, Refusals};
use super::ledger::{fits, mark};
use super::{Decision, Finding, TeamState, Verdict};
use crate::model::TaskStatus;

/// Maximum number of counts.
const MAX_COUNTS: usize = 512;

/// Limit over all states, as a multiple of the limit in one state, until more tasks are completed.
const STATES_FACTOR: u32 = 3;

/// Number of states for which a shown warning is remembered.
const MAX_REMEMBERED_WARNINGS: usize = 32;

/// Counts of blocks and shown warnings: `gate\0about\0state` → count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guard {
    /// Number of blocks. A rule has its own count under `rule:<name>`.
    pub blocks: BTreeMap<String, u32>,
    /// Shown warnings: `gate\0about\0state\0code` → position in the order in which they were shown.
    pub warned: BTreeMap<String, u32>,
    /// The ids of all tasks ever seen completed. Claude Code deletes their files and never reuses an id. The blocks
    /// are forgotten only when a new id is added; completing the same task again is not progress.
    pub completed: BTreeSet<String>,
    /// The blocks of one actor by one gate, by `gate\0about`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refusals: BTreeMap<String, Refusals>,
}

/// The outcome of an attempt that a gate blocks.
enum Outcome {
    Blocked,
    /// Allowed after this many blocks.
    Allowed(u32),
}

/// The circumstances of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Counting<'a> {
    /// The key of the state of the work ([`TeamState::key`]).
    pub state: &'a str,
    /// Maximum number of blocks in one state.
    pub max_blocks: u32,
    /// The attempt.
    pub attempt: &'a Attempt,
}

impl Guard {
    /// Turns a finding into a verdict and counts it if the attempt counts. The action is allowed if it was blocked
    /// `max_blocks` times in this state or `STATES_FACTOR` times as often in all states, unless the rule is lasting. A
    /// warning that was already shown in this state is marked as repeated.
    ///
    /// Of several findings, settle only the first that blocks and those before it.
    pub fn settle(&mut self, finding: &Finding, counting: &Counting<'_>) -> Verdict {
        let Counting { state, max_blocks, attempt } = *counting;
        let mut verdict = finding.verdict();
        let subject = guard_key(finding);
        match finding.decision {
            Decision::Allow => {}
            Decision::Block if finding.lasting => {}
            Decision::Warn => {
                let what = blake3::hash(finding.reason.as_bytes()).to_hex();
                let what = format!("{state}\0{}", &what[..8]);
                verdict.repeated = was_shown(&mut self.warned, &subject, &what);
            }
            Decision::Block => {
                let most = finding.gate.max_blocks(max_blocks);
                if let Outcome::Allowed(blocks) = self.refuse(&subject, state, most, attempt) {
                    verdict.decision = Decision::Allow;
                    verdict.escalated = true;
                    verdict.blocks = Some(blocks);
                }
            }
        }
        verdict
    }

    /// Forgets the blocks if a task is completed that never was before.
    pub fn note_progress(&mut self, team: &TeamState) {
        let done = || team.tasks.values().filter(|task| task.status == Some(TaskStatus::Completed));
        let new: Vec<String> =
            done().map(|task| &task.id).filter(|id| !self.completed.contains(*id)).cloned().collect();
        if new.is_empty() {
            return;
        }
        self.blocks.clear();
        self.completed.extend(new);
        if self.completed.len() > MAX_COUNTS {
            self.completed = done().map(|task| task.id.clone()).collect();
        }
    }

    /// Adds the counts of the same actors from another guard.
    pub fn merge(&mut self, other: &Guard) {
        for (mine, theirs) in [(&mut self.blocks, &other.blocks), (&mut self.warned, &other.warned)] {
            for (key, times) in theirs {
                let kept = mine.entry(key.clone()).or_default();
                *kept = (*kept).max(*times);
            }
        }
        self.completed.extend(other.completed.iter().cloned());
        for (key, theirs) in &other.refusals {
            self.refusals.entry(key.clone()).or_default().merge(theirs);
        }
    }

    /// Counts one more block, unless the limit is reached or no count is free.
    fn refuse(&mut self, subject: &str, state: &str, most: u32, attempt: &Attempt) -> Outcome {
        let owner = guard_owner(subject);
        let own = format!("{}\0{}", owner.0, owner.1.unwrap_or_default());
        if !Refusals::counts(self.refusals.get(&own), attempt) {
            self.note(own, attempt, false);
            return Outcome::Blocked;
        }
        let all = self.blocks.iter().filter(|(key, _)| guard_owner(key) == owner);
        let all = all.fold(0u32, |sum, (_, times)| sum.saturating_add(*times));
        let key = format!("{subject}{state}");
        let is_full = self.blocks.len() >= MAX_COUNTS && !self.blocks.contains_key(&key);
        let here = self.blocks.get(&key).copied().unwrap_or_default();
        if here >= most || is_full {
            return Outcome::Allowed(here);
        }
        if all >= most.saturating_mul(STATES_FACTOR) {
            return Outcome::Allowed(all);
        }
        self.blocks.insert(key, here + 1);
        self.note(own, attempt, true);
        Outcome::Blocked
    }

    fn note(&mut self, own: String, attempt: &Attempt, counts: bool) {
        if attempt.origin == Origin::Turn {
            return;
        }
        if self.refusals.len() >= MAX_COUNTS && !self.refusals.contains_key(&own) {
            let oldest = self.refusals.iter().min_by_key(|(_, refusals)| refusals.last);
            oldest.map(|(key, _)| key.clone()).map(|key| self.refusals.remove(&key));
        }
        self.refusals.entry(own).or_default().note(attempt, counts);
    }
}

/// The gate and the actor of a key. All rules share one gate.
fn guard_owner(key: &str) -> (&str, Option<&str>) {
    let mut parts = key.split('\0');
    let gate = parts.next().unwrap_or_default();
    (gate.split(':').next().unwrap_or(gate), parts.next())
}

/// The prefix of a finding's key, without the state: `gate\0about\0`.
fn guard_key(finding: &Finding) -> String {
    let plain = |text: &str| text.replace('\0', "");
    let gate = match &finding.rule {
        Some(rule) => format!("{}:{}", finding.gate.name(), plain(rule)),
        None => finding.gate.name().to_owned(),
    };
    let counted = finding.counted.as_ref().filter(|_| finding.decision == Decision::Block);
    let about = plain(counted.unwrap_or(&finding.about));
    format!("{gate}\0{}\0", if fits(&about) { about } else { mark(&about) })
}

/// Records that a warning is shown, and returns whether it was shown before. The oldest entry is dropped first.
fn was_shown(shown: &mut BTreeMap<String, u32>, subject: &str, what: &str) -> bool {
    let key = format!("{subject}{what}");
    let last = shown.values().max().copied().unwrap_or_default();
    if let Some(place) = shown.get_mut(&key) {
        // An entry that is already the newest needs no update.
        if *place < last {
            *place = last.saturating_add(1);
        }
        return true;
    }
    let own = |key: &&String| key.starts_with(subject);
    let most_own = shown.keys().filter(own).count() >= MAX_REMEMBERED_WARNINGS;
    if most_own || shown.len() >= MAX_COUNTS {
        let kept = shown.iter().filter(|(key, _)| !most_own || own(key));
        let oldest = kept.min_by_key(|(_, place)| **place).map(|(key, _)| key.clone());
        oldest.map(|key| shown.remove(&key));
    }
    shown.insert(key, last.saturating_add(1));
    false
}
