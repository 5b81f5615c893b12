//! The history of files as records. A later record of the same agent and path replaces an earlier one, so a history can be
//! stored as a log of its changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FileHistory;
use super::file_history::{Change, Commit};

/// The last use of a file by an agent, or its last commit in a working tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The number of the last call when it was written.
    #[serde(rename = "n")]
    pub order: u64,
    pub by: String,
    #[serde(rename = "did")]
    entry: Entry,
    /// The file; of a commit the root of the working tree. It is last, so that a reader can find it without parsing.
    path: String,
}

/// An order of 0 removes an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Entry {
    Read(u64),
    Change {
        #[serde(rename = "root")]
        root_len: usize,
        #[serde(rename = "new", default, skip_serializing_if = "std::ops::Not::not")]
        is_new: bool,
        last: Change,
    },
    Commit(Commit),
}

/// The path, the kind of entry and the agent.
type Key = (String, u8, String);

impl FileHistory {
    /// All of it.
    pub fn records(&self) -> Vec<FileRecord> {
        let record = |((path, _, by), entry)| FileRecord { order: self.order, by, entry, path };
        self.entries().into_iter().map(record).collect()
    }

    /// The records that make this history of an earlier state.
    pub fn records_since(&self, earlier: &FileHistory) -> Vec<FileRecord> {
        if self == earlier {
            return Vec::new();
        }
        let (mut known, now) = (earlier.entries(), self.entries());
        let mut records = Vec::new();
        for (key, entry) in now {
            if known.remove(&key).as_ref() != Some(&entry) {
                records.push((key, entry));
            }
        }
        records.extend(known.into_iter().map(|(key, entry)| (key, entry.removed())));
        let record = |((path, _, by), entry)| FileRecord { order: self.order, by, entry, path };
        records.into_iter().map(record).collect()
    }

    fn entries(&self) -> BTreeMap<Key, Entry> {
        let mut entries = BTreeMap::new();
        for (path, file) in &self.files {
            for (by, order) in &file.reads {
                entries.insert((path.clone(), 0, by.clone()), Entry::Read(*order));
            }
            for (by, last) in &file.changes {
                let entry =
                    Entry::Change { root_len: file.root_len, is_new: file.is_new, last: last.clone() };
                entries.insert((path.clone(), 1, by.clone()), entry);
            }
        }
        for (root, commits) in &self.commits {
            for (by, commit) in commits {
                entries.insert((root.clone(), 2, by.clone()), Entry::Commit(*commit));
            }
        }
        entries
    }

    /// Adds a record.
    pub fn insert(&mut self, record: FileRecord) {
        let FileRecord { order, by, entry, path } = record;
        self.order = self.order.max(order);
        match entry {
            Entry::Commit(Commit { order: 0, .. }) => {
                self.commits.get_mut(&path).map(|commits| commits.remove(&by));
            }
            Entry::Commit(commit) => self.note_commit(&path, &by, commit),
            Entry::Read(0) => {
                self.files.get_mut(&path).map(|file| file.reads.remove(&by));
            }
            Entry::Change { last: Change { order: 0, .. }, .. } => {
                self.files.get_mut(&path).map(|file| file.changes.remove(&by));
            }
            Entry::Read(order) => {
                self.file(&path).reads.insert(by, order);
            }
            Entry::Change { root_len, is_new, last } => {
                let file = self.file(&path);
                (file.root_len, file.is_new) = (root_len, is_new);
                file.changes.insert(by, last);
            }
        }
    }
}

impl Entry {
    /// The entry that removes this one.
    fn removed(self) -> Entry {
        match self {
            Entry::Read(_) => Entry::Read(0),
            Entry::Change { root_len, is_new, .. } => {
                Entry::Change { root_len, is_new, last: Change::default() }
            }
            Entry::Commit(_) => Entry::Commit(Commit::default()),
        }
    }
}
