//! Which agent of a team read and changed which file: the history that the gates for shared files need.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ledger::{fits, forget_oldest, mark};
use super::{Access, Judged, Ledger};
use crate::client::payload::Kind;
use crate::model::event::{ActorKind, LEAD};
use crate::sys::clock::Timestamp;

/// Maximum number of files. Files that were only read make room first, the oldest first.
const MAX_FILES: usize = 256;
/// Maximum number of agents for each file.
pub(super) const MAX_AGENTS: usize = 16;

/// The uses of files, by their path. Each order is the number of a tool call that used files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileHistory {
    /// The number of the last call.
    pub order: u64,
    pub(super) files: BTreeMap<String, FileUse>,
    /// The last commit of each agent, by the root of the working tree.
    pub(super) commits: BTreeMap<String, BTreeMap<String, Commit>>,
}

/// The uses of one file by the agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileUse {
    /// Length of the root of its working tree, if an agent changed it.
    pub root_len: usize,
    /// Whether an agent of the team created it.
    pub is_new: bool,
    pub reads: BTreeMap<String, u64>,
    pub changes: BTreeMap<String, Change>,
}

/// The last change of a file by one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    pub order: u64,
    pub at: Timestamp,
    /// The [`mark`] of its tool call.
    call: String,
    /// The order and the time of the change before this one, which counts again if the call fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<(u64, Timestamp)>,
    /// The order of the change that was last added to the index.
    #[serde(skip_serializing_if = "is_zero")]
    staged: u64,
    /// The order of the change that was last committed or discarded.
    #[serde(skip_serializing_if = "is_zero")]
    settled: u64,
}

/// The last commit of one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Commit {
    pub order: u64,
    pub at: Timestamp,
}

fn is_zero(order: &u64) -> bool {
    *order == 0
}

impl Change {
    pub fn stage(&mut self) {
        self.staged = self.order;
    }

    /// It was committed or discarded.
    pub fn settle(&mut self) {
        self.settled = self.order;
    }

    /// Whether it is in the index.
    pub fn is_staged(&self) -> bool {
        self.staged >= self.order
    }

    pub fn is_settled(&self) -> bool {
        self.settled >= self.order
    }
}

/// A change by another agent that an agent has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnseenChange<'a> {
    pub by: &'a str,
    pub at: Timestamp,
    /// Whether the agent saw the file before that change. If not, it may never have looked at it.
    pub seen_before: bool,
}

impl FileHistory {
    /// Adds a tool call of an agent. It counts as done when it starts, because two edits can start before either
    /// returns; a failed one is taken back.
    fn observe(&mut self, event: &Judged<'_>, access: &Access, (agent, order): (String, u64)) {
        let call = event.payload.tool_use_id().map(mark).unwrap_or_default();
        match (event.kind, access) {
            (Kind::PreToolUse | Kind::PostToolUse, Access::Reads(place)) => {
                let file = self.file(&place.path);
                file.reads.insert(agent, order);
                forget_oldest(&mut file.reads, MAX_AGENTS, |order| *order);
            }
            (Kind::PreToolUse | Kind::PostToolUse, Access::Changes(place)) => {
                let file = self.file(&place.path);
                file.root_len = place.root_len;
                file.is_new |= place.is_new;
                let last = file.changes.entry(agent).or_default();
                if last.call != call || call.is_empty() {
                    last.before = Some((last.order, last.at)).filter(|(order, _)| *order > 0);
                }
                (last.order, last.at, last.call) = (order, event.at, call);
                forget_oldest(&mut file.changes, MAX_AGENTS, |change| change.order);
            }
            (_, Access::Changes(place)) => {
                if let Some(file) = self.files.get_mut(&place.path) {
                    file.take_back(&agent, &call);
                }
            }
            // No hook runs after a line of a skill.
            (Kind::PostToolUse | Kind::PreSkillShellCommand, Access::Git { calls, .. }) => {
                calls.iter().for_each(|call| self.observe_git(call, &agent, (order, event.at)));
            }
            (_, Access::Reads(_) | Access::Git { .. }) => {}
        }
    }

    /// The entry of a file, after making room for it.
    pub(super) fn file(&mut self, path: &str) -> &mut FileUse {
        if !self.files.contains_key(path) {
            self.keep(MAX_FILES - 1);
        }
        self.files.entry(path.to_owned()).or_default()
    }

    /// Drops the oldest entries until this many are left; those that were only read first.
    pub fn keep(&mut self, most: usize) {
        forget_oldest(&mut self.files, most, |file| (!file.changes.is_empty(), file.last_use()));
    }

    /// The number of files.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// The last change of a file by each other agent, if this agent has neither read nor changed the file since; the newest
    /// first.
    pub fn unseen_changes(&self, path: &str, agent: &str) -> Vec<UnseenChange<'_>> {
        let Some(file) = self.files.get(path) else { return Vec::new() };
        let own = file.changes.get(agent).map(|change| change.order);
        let seen = file.reads.get(agent).copied().max(own);
        let others = file.changes.iter().filter(|(by, _)| *by != agent);
        let mut unseen: Vec<_> = others.filter(|(_, change)| seen < Some(change.order)).collect();
        unseen.sort_by_key(|(_, change)| std::cmp::Reverse(change.order));
        let seen_before = seen.is_some();
        unseen.into_iter().map(|(by, change)| UnseenChange { by, at: change.at, seen_before }).collect()
    }
}

impl FileUse {
    fn last_use(&self) -> u64 {
        let changes = self.changes.values().map(|change| change.order);
        self.reads.values().copied().chain(changes).max().unwrap_or_default()
    }

    /// Takes back the change of a call that failed or was denied.
    fn take_back(&mut self, agent: &str, call: &str) {
        let Some(change) = self.changes.get_mut(agent).filter(|change| change.call == call) else { return };
        match change.before.take() {
            Some((order, at)) => (change.order, change.at, change.call) = (order, at, String::new()),
            None => drop(self.changes.remove(agent)),
        }
    }
}

impl Ledger {
    /// The agent under which an event's uses are recorded. Plain subagents share their roles, so theirs has the id. `None` for
    /// an unknown actor, as in tool calls of teammates before 2.1.69.
    pub fn agent(&self, event: &Judged<'_>) -> Option<String> {
        let actor = event.actor;
        let agent = match actor.kind {
            ActorKind::Lead => LEAD.to_owned(),
            ActorKind::Teammate => actor.name.clone()?,
            ActorKind::Subagent => format!("{} ({})", actor.shown(), actor.id.as_deref()?),
            ActorKind::Unknown if self.names_agents && event.is_nameless() => LEAD.to_owned(),
            ActorKind::Helper | ActorKind::Unknown => return None,
        };
        Some(agent).filter(|agent| fits(agent))
    }

    /// Adds a tool call that was not blocked.
    pub(super) fn observe_access(&mut self, event: &Judged<'_>, access: &Access) {
        // A git command changes nothing before it has run. No hook runs after a line of a skill.
        let has_run = matches!(event.kind, Kind::PostToolUse | Kind::PreSkillShellCommand)
            || !matches!(access, Access::Git { .. });
        if let Some(agent) = self.agent(event).filter(|_| has_run) {
            // A damaged record can have any number.
            self.files.order = self.files.order.saturating_add(1);
            let order = self.files.order;
            self.files.observe(event, access, (agent, order));
        }
    }
}
