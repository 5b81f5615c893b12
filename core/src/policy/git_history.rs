//! The effects of git commands on the changes of a team's agents.

use std::collections::BTreeMap;

use super::FileHistory;
use super::access::{GitCall, below_root};
use super::file_history::{Change, Commit, FileUse, MAX_AGENTS};
use super::git::{Affected, GitEffect};
use super::ledger::forget_oldest;
use crate::sys::clock::Timestamp;

/// Maximum number of working trees with commits.
const MAX_TREES: usize = 32;

/// A change that its agent has not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenChange<'a> {
    pub by: &'a str,
    /// The path below the root of the working tree.
    pub path: &'a str,
}

impl FileHistory {
    /// Adds a git command that an agent has run.
    pub(super) fn observe_git(&mut self, call: &GitCall, agent: &str, (order, at): (u64, Timestamp)) {
        for effect in &call.effects {
            match effect {
                GitEffect::Stages(paths, files) => {
                    self.each_change(&call.root, |path, is_new, change| {
                        if is_affected(is_new, change, *files) && paths.cover(path) {
                            change.stage();
                        }
                    });
                }
                GitEffect::Commits | GitEffect::Amends => {
                    self.settle_commit(&call.root, agent);
                    self.note_commit(&call.root, agent, Commit { order, at });
                }
                GitEffect::Discards(paths, files) => {
                    self.each_change(&call.root, |path, is_new, change| {
                        if is_affected(is_new, change, *files) && paths.cover(path) {
                            change.settle();
                        }
                    });
                }
                GitEffect::Rewrites => {}
            }
        }
    }

    /// An agent commits its own work, and the index, which is common to all agents of a working tree.
    fn settle_commit(&mut self, root: &str, agent: &str) {
        let files = self.files.iter_mut().filter(|(path, file)| is_in(path, file, root));
        for (_, FileUse { is_new, changes, .. }) in files {
            let open = changes.iter_mut().filter(|(_, change)| !change.is_settled());
            for (_, change) in open.filter(|(by, change)| *by == agent || change.is_staged()) {
                change.settle();
                *is_new = false;
            }
        }
    }

    pub(super) fn note_commit(&mut self, root: &str, agent: &str, commit: Commit) {
        if !self.commits.contains_key(root) {
            let last = |commits: &BTreeMap<String, Commit>| commits.values().map(|one| one.order).max();
            forget_oldest(&mut self.commits, MAX_TREES - 1, last);
        }
        let commits = self.commits.entry(root.to_owned()).or_default();
        commits.insert(agent.to_owned(), commit);
        forget_oldest(commits, MAX_AGENTS, |commit| commit.order);
    }

    /// Applies a function to each change in a working tree, with its path and whether an agent created the file.
    fn each_change(&mut self, root: &str, apply: impl Fn(&str, bool, &mut Change)) {
        for (path, file) in self.files.iter_mut().filter(|(path, file)| is_in(path, file, root)) {
            file.changes.values_mut().for_each(|change| apply(path, file.is_new, change));
        }
    }

    /// The uncommitted changes of other agents among the files that a command affects, of the paths that are selected.
    pub fn affected_changes<'a>(
        &'a self,
        root: &str,
        agent: &str,
        files: Affected,
        selects: impl Fn(&str) -> bool,
    ) -> Vec<OpenChange<'a>> {
        let mut open = Vec::new();
        let in_tree = self.files.iter().filter(|(path, file)| is_in(path, file, root));
        for (path, file) in in_tree.filter(|(path, _)| selects(path)) {
            let others = file.changes.iter().filter(|(by, change)| *by != agent && !change.is_settled());
            let affected = others.filter(|(_, change)| is_affected(file.is_new, change, files));
            open.extend(affected.map(|(by, _)| OpenChange { by, path: below_root(path, file.root_len) }));
        }
        open
    }

    /// The files in a working tree that other agents changed and did not commit, without those with a change after this time.
    pub fn open_files(&self, root: &str, agent: &str, until: Timestamp) -> Vec<&str> {
        let in_tree = self.files.iter().filter(|(path, file)| is_in(path, file, root));
        let open = in_tree.filter(|(_, file)| {
            let mut others = file.changes.iter().filter(|(by, change)| *by != agent && !change.is_settled());
            others.clone().count() > 0 && others.all(|(_, change)| change.at <= until)
        });
        open.map(|(path, _)| path.as_str()).collect()
    }

    /// Counts the changes of a file up to this order as committed.
    pub fn settle(&mut self, path: &str, order: u64) {
        let changes = self.files.get_mut(path).map(|file| file.changes.values_mut());
        changes.into_iter().flatten().filter(|change| change.order <= order).for_each(Change::settle);
    }

    /// The last commit of each other agent in a working tree, the newest first, and whether it is newer than the agent's own.
    pub fn commits_of_others(&self, root: &str, agent: &str) -> Vec<(&str, Commit, bool)> {
        let Some(commits) = self.commits.get(root) else { return Vec::new() };
        let own = commits.get(agent).map(|commit| commit.order);
        let others = commits.iter().filter(|(by, _)| *by != agent);
        let mut others: Vec<_> =
            others.map(|(by, commit)| (by.as_str(), *commit, own < Some(commit.order))).collect();
        others.sort_by_key(|(_, commit, _)| std::cmp::Reverse(commit.order));
        others
    }
}

fn is_in(path: &str, file: &FileUse, root: &str) -> bool {
    path.get(..file.root_len) == Some(root)
}

/// Whether a command acts on a change. `is_new`: an agent created the file, and it was not committed since.
fn is_affected(is_new: bool, change: &Change, files: Affected) -> bool {
    let is_tracked = !is_new || change.is_staged();
    match files {
        Affected::Tracked => is_tracked,
        Affected::Untracked => !is_tracked,
        Affected::Both => true,
    }
}
