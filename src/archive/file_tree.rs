//! Reads a run's journal, and computes the files that existed at a given time.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use super::index::Index;
use super::pack;
use super::snapshot::Snapshot;
use super::store::Archive;

/// A run's manifests, in the order of the captures.
#[derive(Debug, Default)]
pub struct Journal {
    /// The manifests.
    pub snapshots: Vec<Snapshot>,
    /// Lines that could not be read.
    pub damaged: usize,
    /// Place and reason of the first one.
    pub damage: Option<String>,
}

/// The state of a file at a given time.
#[derive(Debug, Clone, PartialEq)]
pub struct FileState {
    /// The content's hash; `None` if it could not be stored.
    pub object: Option<String>,
    /// Whether it was incomplete JSON.
    pub torn: bool,
    /// If it is incomplete, the last complete content before it.
    pub whole: Option<String>,
    /// When this state was first seen, RFC 3339.
    pub at: String,
    /// When it was first missing.
    pub gone_at: Option<String>,
}

/// The files of a run at a given time, by path below Claude Code's directory.
pub type FileTree = BTreeMap<String, FileState>;

impl Archive {
    /// Reads the intact part of a run's journal.
    pub fn journal(&self, run: &str) -> Journal {
        let mut journal = Journal::default();
        let Some(dir) = self.run_dir(run) else { return journal };
        self.objects.expect(run);
        let mut names = journals(&dir);
        // A line of the main journal may have been moved to the time of a line written without the lock, so it comes
        // after that.
        names.sort_by_key(|name| (name == MAIN, name.clone()));
        for name in names {
            journal.read(&dir.join(name));
        }
        // The sort is stable: captures with the same time stay in the order of the journal.
        journal.snapshots.sort_by(|a, b| a.at.cmp(&b.at));
        journal
    }

    /// The number of bytes that the run's journal is shorter than in the index; negative if a writer was killed before
    /// it updated the index.
    pub(super) fn missing(&self, index: &Index) -> i64 {
        index.journal.map_or(0, |known| known as i64 - self.journal_length(&index.run) as i64)
    }

    /// Uncompressed size of the run's journal, in bytes. It grows under the lock, and the index is written after it.
    pub(super) fn journal_length(&self, run: &str) -> u64 {
        self.run_dir(run).and_then(|dir| pack::plain_size(&dir.join(MAIN))).unwrap_or(0)
    }

    /// Number of the run's journals that were written without the lock.
    pub(super) fn lines_without_lock(&self, run: &str) -> usize {
        let names = self.run_dir(run).map(|dir| journals(&dir)).unwrap_or_default();
        names.iter().filter(|name| *name != MAIN).count()
    }
}

/// The journal that is written under the lock.
pub(super) const MAIN: &str = "snapshots.jsonl";

/// The names of a run's journals, without the suffix of compressed ones.
pub(super) fn journals(dir: &Path) -> Vec<String> {
    let listing = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = listing.filter_map(|entry| entry.file_name().into_string().ok());
    let plain = names.map(|name| name.strip_suffix(".gz").map(str::to_owned).unwrap_or(name));
    let mut names: Vec<String> =
        plain.filter(|name| name.starts_with("snapshots") && name.ends_with(".jsonl")).collect();
    names.sort();
    names.dedup();
    names
}

impl Journal {
    fn read(&mut self, path: &Path) {
        let file = match pack::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => return self.miss(error.to_string()),
        };
        for (number, line) in (1..).zip(BufReader::new(file).split(b'\n')) {
            let line = match line {
                Ok(line) => line,
                Err(error) => return self.miss(format!("cannot read {}: {error}", path.display())),
            };
            if line.is_empty() {
                continue;
            }
            match Snapshot::parse(&line) {
                Ok(snapshot) => self.snapshots.push(snapshot),
                Err(error) => self.miss(format!("{}:{number}: {error}", path.display())),
            }
        }
    }

    fn miss(&mut self, why: String) {
        self.damaged += 1;
        self.damage.get_or_insert(why);
    }

    /// The last existing state of every file.
    pub fn last(&self) -> FileTree {
        let mut held = FileTree::new();
        for snapshot in &self.snapshots {
            apply(&mut held, snapshot);
        }
        held
    }

    /// The files that existed at a time (RFC 3339, in teamkeep's spelling).
    pub fn at(&self, moment: &str) -> FileTree {
        let mut held = FileTree::new();
        for snapshot in self.snapshots.iter().take_while(|snapshot| snapshot.at.as_str() <= moment) {
            apply(&mut held, snapshot);
        }
        held.retain(|_, state| state.gone_at.is_none());
        held
    }
}

/// Applies one manifest to a state. A deleted file keeps its last content.
pub fn apply(held: &mut FileTree, snapshot: &Snapshot) {
    for change in &snapshot.changed {
        let before = held.get(&change.path);
        // A state that could not be read does not replace the one before.
        let object = change.object.clone().or_else(|| before?.object.clone());
        let whole = before.filter(|_| change.torn);
        let whole =
            whole.and_then(|state| if state.torn { state.whole.clone() } else { state.object.clone() });
        let state = FileState { object, torn: change.torn, whole, at: snapshot.at.clone(), gone_at: None };
        held.insert(change.path.clone(), state);
    }
    for path in &snapshot.gone {
        if let Some(state) = held.get_mut(path) {
            state.gone_at.get_or_insert_with(|| snapshot.at.clone());
        }
    }
}
