//! Which agent of a team read and changed which file: the history that the gates for shared files need.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ledger::{fits, mark};
use super::{Access, Judged, Ledger, Place};
use crate::client::payload::Kind;
use crate::model::event::{ActorKind, LEAD};
use crate::sys::clock::Timestamp;

/// Maximum number of files. Files that were only read make room first, the oldest first.
const MAX_FILES: usize = 256;
/// Maximum number of agents for each file.
const MAX_AGENTS: usize = 16;

/// The uses of files, by their path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileHistory {
    pub(super) files: BTreeMap<String, FileUse>,
    /// The last commit of each agent, by the root of the working tree.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) commits: BTreeMap<String, BTreeMap<String, Commit>>,
}

/// The uses of one file by the agents. Each number is a position in the ledger's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FileUse {
    /// Length of the root of its working tree.
    #[serde(rename = "root")]
    pub root_len: usize,
    /// Whether an agent of the team created it.
    #[serde(skip_serializing_if = "is_false")]
    pub is_new: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    reads: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
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
    /// The change before this one, which counts again if the call fails; 0 if there is none.
    before: u64,
    /// Whether it is in the index.
    #[serde(skip_serializing_if = "is_false")]
    pub is_staged: bool,
    /// Whether it was committed or discarded.
    #[serde(skip_serializing_if = "is_false")]
    pub is_settled: bool,
}

/// The last commit of one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Commit {
    pub order: u64,
    pub at: Timestamp,
}

fn is_false(value: &bool) -> bool {
    !value
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
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commits.is_empty()
    }

    /// Adds a tool call of an agent. It counts as done when it starts, because two edits can start before either
    /// returns; a failed one is taken back.
    fn observe(&mut self, event: &Judged<'_>, access: &Access, (agent, order): (String, u64)) {
        let call = event.payload.tool_use_id().map(mark).unwrap_or_default();
        match (event.kind, access) {
            (Kind::PreToolUse | Kind::PostToolUse, Access::Reads(place)) => {
                let file = self.file(place);
                file.reads.insert(agent, order);
                forget_oldest(&mut file.reads, |order| *order);
            }
            (Kind::PreToolUse | Kind::PostToolUse, Access::Changes(place)) => {
                let file = self.file(place);
                file.is_new |= place.is_new;
                let last = file.changes.entry(agent).or_default();
                let before = if last.call != call || call.is_empty() { last.order } else { last.before };
                *last = Change { order, at: event.at, call, before, ..Change::default() };
                forget_oldest(&mut file.changes, |change| change.order);
            }
            (_, Access::Changes(place)) => {
                if let Some(file) = self.files.get_mut(&place.path) {
                    file.take_back(&agent, &call);
                }
            }
            (Kind::PostToolUse, Access::Git { calls, .. }) => {
                calls.iter().for_each(|call| self.observe_git(call, &agent, (order, event.at)));
            }
            (_, Access::Reads(_) | Access::Git { .. }) => {}
        }
    }

    /// Forgets the files that an agent has read. Its changes remain.
    pub(super) fn forget_reads(&mut self, agent: &str) {
        self.files.retain(|_, file| {
            file.reads.remove(agent);
            !file.reads.is_empty() || !file.changes.is_empty()
        });
    }

    /// The entry of a file, after making room for it.
    fn file(&mut self, place: &Place) -> &mut FileUse {
        if !self.files.contains_key(&place.path) && self.files.len() >= MAX_FILES {
            let oldest =
                self.files.iter().min_by_key(|(_, file)| (!file.changes.is_empty(), file.last_use()));
            oldest.map(|(path, _)| path.clone()).map(|path| self.files.remove(&path));
        }
        let file = self.files.entry(place.path.clone()).or_default();
        file.root_len = place.root_len;
        file
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
        (change.order, change.call) = (std::mem::take(&mut change.before), String::new());
        if change.order == 0 {
            self.changes.remove(agent);
        }
    }
}

pub(super) fn forget_oldest<V>(agents: &mut BTreeMap<String, V>, order: impl Fn(&V) -> u64) {
    if agents.len() > MAX_AGENTS {
        let oldest = agents.iter().min_by_key(|(_, value)| order(value)).map(|(agent, _)| agent.clone());
        oldest.map(|agent| agents.remove(&agent));
    }
}

impl Ledger {
    /// The agent under which an event's uses are recorded. Plain subagents share their roles, so theirs has the id. `None` for
    /// an unknown actor, as in tool calls of teammates before 2.1.69.
    pub(super) fn agent(&self, event: &Judged<'_>) -> Option<String> {
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
        if let Some(agent) = self.agent(event) {
            let order = self.next();
            self.files.observe(event, access, (agent, order));
        }
    }
}
