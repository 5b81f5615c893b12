//! Which agent of a team last saw and changed which file, and who made which commit and stash entry. The gates for shared
//! files compare it with the files and with git.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ledger::{fits, forget_oldest, mark};
use super::{Access, GitAccess, JudgedEvent, Ledger};
use teamkeep_model::event::{ActorKind, LEAD, MAX_ENTRIES};
use teamkeep_model::payload::EventKind;
use teamkeep_model::time::Timestamp;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileHistory {
    /// The uses of each file by its path, by agent.
    files: BTreeMap<String, BTreeMap<String, FileUse>>,
    /// The agents that made commits and stash entries.
    made: BTreeMap<String, Made>,
    /// Calls of Bash that can make commits and have not returned, by their [`mark`].
    calls: BTreeMap<String, GitCall>,
}

/// The last use of a file by an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileUse {
    pub at: Timestamp,
    /// The file when the agent last read or wrote it; `None` if it cannot be read.
    pub seen: Option<FileState>,
    /// When the agent last changed it.
    pub changed: Option<Timestamp>,
    /// Whether git may still show that change: it is neither committed nor gone.
    pub is_open: bool,
}

/// The state of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    pub size: u64,
    /// Its modification time in nanoseconds.
    pub time: i64,
    /// Of its content; empty for a file that is too large to be read.
    pub hash: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    by: String,
    at: Timestamp,
}

/// The state of git before a call that can make commits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCall {
    /// The time in seconds by the clock of the system, which git uses.
    pub since: i64,
    /// The commits and the stash entries that are there.
    pub tops: BTreeSet<String>,
}

impl FileState {
    /// Whether it is the same content.
    pub fn is_same(&self, other: &FileState) -> bool {
        self == other || (self.size == other.size && self.hash == other.hash && !self.hash.is_empty())
    }
}

impl FileHistory {
    /// The last use of a file by an agent.
    pub fn of(&self, path: &str, agent: &str) -> Option<&FileUse> {
        self.files.get(path)?.get(agent)
    }

    /// The last other agent that changed a file after a moment, and when.
    pub(crate) fn changed_by(
        &self,
        path: &str,
        agent: &str,
        after: Option<Timestamp>,
    ) -> Option<(&str, Timestamp)> {
        let others = self.files.get(path)?.iter().filter(|(by, _)| *by != agent);
        let changed = others.filter_map(|(by, used)| Some((by.as_str(), used.changed?)));
        changed.filter(|(_, at)| Some(*at) >= after).max_by_key(|(_, at)| *at)
    }

    /// The other agents with uncommitted changes of one of these files, as far as git shows the files as changed.
    pub fn editors<'a>(&'a self, paths: &[String], agent: &str) -> BTreeSet<&'a str> {
        let uses = paths.iter().filter_map(|path| self.files.get(path)).flatten();
        uses.filter(|(by, used)| *by != agent && used.is_open).map(|(by, _)| by.as_str()).collect()
    }

    /// The files in a directory that agents changed.
    pub fn changed_files(&self, root: &str) -> BTreeSet<&str> {
        self.files_with(root, |_, used| used.changed.is_some())
    }

    /// The files in a directory with changes that may not be committed, of other agents.
    pub fn open_files(&self, root: &str, agent: &str) -> BTreeSet<&str> {
        self.files_with(root, |by, used| by != agent && used.is_open)
    }

    /// The files in a directory that other agents used.
    pub fn used_files(&self, root: &str, agent: &str) -> BTreeSet<&str> {
        self.files_with(root, |by, _| by != agent)
    }

    /// The files in a directory that an agent used in such a way.
    fn files_with(&self, root: &str, is_such: impl Fn(&str, &FileUse) -> bool) -> BTreeSet<&str> {
        let below = self.files.iter().filter(|(path, _)| is_below(path, root));
        let found = below.filter(|(_, uses)| uses.iter().any(|(by, used)| is_such(by, used)));
        found.map(|(path, _)| path.as_str()).collect()
    }

    /// The other agents that used one of these files.
    pub fn users<'a>(&'a self, paths: &[String], agent: &str) -> BTreeSet<&'a str> {
        let uses = paths.iter().filter_map(|path| self.files.get(path)).flat_map(BTreeMap::keys);
        uses.map(String::as_str).filter(|by| *by != agent).collect()
    }

    /// The agent that made a commit or a stash entry.
    pub fn maker(&self, made: &str) -> Option<&str> {
        self.made.get(made).map(|made| made.by.as_str())
    }

    /// Whether commits or stash entries of another agent are known.
    pub fn has_makers(&self, agent: &str) -> bool {
        self.made.values().any(|made| made.by != agent)
    }

    /// The state of git before a call.
    pub fn call(&self, id: &str) -> Option<&GitCall> {
        self.calls.get(&mark(id))
    }

    fn use_file(&mut self, path: &str, agent: &str, used: FileUse) {
        let uses = self.files.entry(path.to_owned()).or_default();
        let before = uses.remove(agent).unwrap_or_default();
        let changed = used.changed.or(before.changed);
        uses.insert(agent.to_owned(), FileUse { changed, is_open: used.is_open || before.is_open, ..used });
        forget_oldest(uses, MAX_ENTRIES, |used| (used.is_open, used.at));
        let age = |uses: &BTreeMap<String, FileUse>| {
            (uses.values().any(|used| used.is_open), uses.values().map(|used| used.at).max())
        };
        forget_oldest(&mut self.files, MAX_ENTRIES, age);
    }

    fn observe_git(&mut self, event: &JudgedEvent<'_>, git: &GitAccess, agent: &str) {
        let call = event.payload.tool_use_id().map(mark).unwrap_or_default();
        if let Some(before) = &git.before {
            self.calls.insert(call, before.clone());
            forget_oldest(&mut self.calls, MAX_ENTRIES, |call| call.since);
        } else if event.kind != EventKind::PreToolUse {
            self.calls.remove(&call);
        }
        // Another agent's call that ran at the same time may have ended first.
        for made in &git.made {
            let by = || Made { by: agent.to_owned(), at: event.at };
            self.made.entry(made.clone()).or_insert_with(by);
        }
        forget_oldest(&mut self.made, MAX_ENTRIES, |made| made.at);
        for path in &git.settled {
            self.files.get_mut(path).into_iter().flatten().for_each(|(_, used)| used.is_open = false);
        }
        // A stash entry or a commit that the call took back is a change of its agent again.
        for path in &git.shown {
            if let Some(uses) = self.files.get_mut(path)
                && uses.values().all(|used| !used.is_open)
                && let Some(used) = uses.get_mut(agent)
            {
                used.is_open = used.changed.is_some();
            }
        }
    }
}

/// Whether a path is in a directory.
pub fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/') || directory.ends_with('/'))
}

impl Ledger {
    /// The agent under which an event's uses are recorded: of a subagent the agent that started it, if that is known. `None`
    /// for an unknown actor, as in tool calls of teammates before 2.1.69.
    pub fn agent(&self, event: &JudgedEvent<'_>) -> Option<String> {
        let actor = event.actor;
        let agent = match actor.kind {
            ActorKind::Lead => LEAD.to_owned(),
            ActorKind::Teammate => actor.name.clone()?,
            ActorKind::Subagent => {
                let id = actor.id.as_deref()?;
                self.starters.get(id).cloned().unwrap_or_else(|| format!("{} ({id})", actor.shown()))
            }
            ActorKind::Unknown if self.names_agents && event.is_nameless() => LEAD.to_owned(),
            ActorKind::Helper | ActorKind::Unknown => return None,
        };
        Some(agent).filter(|agent| fits(agent))
    }

    /// Adds a tool call that was not blocked.
    pub(super) fn observe_access(&mut self, event: &JudgedEvent<'_>, access: &Access) {
        let Some(agent) = self.agent(event) else { return };
        match access {
            Access::Used { path, state, is_change } => {
                let changed = is_change.then_some(event.at);
                let used = FileUse { at: event.at, seen: state.clone(), changed, is_open: *is_change };
                self.files.use_file(path, &agent, used);
            }
            Access::Edit(_) => {}
            Access::Git(git) => self.files.observe_git(event, git, &agent),
        }
    }
}
