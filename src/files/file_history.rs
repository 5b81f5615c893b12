//! The files of a run, each with the agents that changed it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Change;
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHistory {
    /// Relative to the run's directory if it is below it.
    pub path: String,
    /// In the order of their first change.
    pub agents: Vec<FileUser>,
}

/// The changes of a file by one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUser {
    pub agent: String,
    pub changes: usize,
    /// Number of added lines.
    pub added: usize,
    pub removed: usize,
    pub first: Timestamp,
    pub last: Timestamp,
}

impl FileHistory {
    /// Whether several agents changed it.
    pub fn is_shared(&self) -> bool {
        self.agents.len() > 1
    }
}

/// The changed files of a run in this directory, by path. `changes` are in order of time.
pub fn file_histories(changes: &[Change], directory: Option<&Path>) -> Vec<FileHistory> {
    let mut files: BTreeMap<&Path, Vec<FileUser>> = BTreeMap::new();
    for change in changes {
        let agents = files.entry(&change.path).or_default();
        let place = agents.iter().position(|user| user.agent == change.agent).unwrap_or(agents.len());
        if place == agents.len() {
            agents.push(FileUser {
                agent: change.agent.clone(),
                changes: 0,
                added: 0,
                removed: 0,
                first: change.at,
                last: change.at,
            });
        }
        let user = &mut agents[place];
        user.changes += 1;
        user.added += change.added;
        user.removed += change.removed;
        user.last = change.at;
    }
    let shown = |path: &Path| {
        let below = directory.and_then(|directory| path.strip_prefix(directory).ok());
        below.unwrap_or(path).display().to_string()
    };
    files.into_iter().map(|(path, agents)| FileHistory { path: shown(path), agents }).collect()
}
