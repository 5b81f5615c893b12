//! States read back: the journal of a run, and what stood on disk at a moment.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use super::index::Index;
use super::snapshot::Snapshot;
use super::store::Archive;
use crate::fs;

/// A run's manifests, in the order in which the looks were taken.
#[derive(Debug, Default)]
pub struct Journal {
    /// The manifests.
    pub snapshots: Vec<Snapshot>,
    /// Lines that could not be read.
    pub damaged: usize,
    /// Where the first of them is, and why.
    pub damage: Option<String>,
}

/// One file's state at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct FileState {
    /// The content's hash; `None` when it could not be kept.
    pub object: Option<String>,
    /// Whether it was no whole JSON.
    pub torn: bool,
    /// The last content before it that was whole, where it is torn.
    pub whole: Option<String>,
    /// When this state was first seen, RFC 3339.
    pub at: String,
    /// When it was first seen to be gone.
    pub gone_at: Option<String>,
}

/// The files of a run at a moment, by path below the client's directory.
pub type Held = BTreeMap<String, FileState>;

impl Archive {
    /// Reads a run's journal, whatever is left of it.
    pub fn journal(&self, run: &str) -> Journal {
        let mut journal = Journal::default();
        let Some(dir) = self.run_dir(run) else { return journal };
        self.objects.expect(run);
        let mut names = journals(&dir);
        // Of the same moment, a line of the main journal was raised to the one that was written without the lock.
        names.sort_by_key(|name| (name == MAIN, name.clone()));
        for name in names {
            journal.read(&dir.join(name));
        }
        // Stable: looks of the same moment stay in the order of the journal.
        journal.snapshots.sort_by(|a, b| a.at.cmp(&b.at));
        journal
    }

    /// How many bytes a run's journal is shorter than the index knows it; below 0 when a writer was killed before it
    /// could note its line.
    pub(super) fn missing(&self, index: &Index) -> i64 {
        index.journal.map_or(0, |known| known as i64 - self.journal_length(&index.run) as i64)
    }

    /// How long the run's journal is, in bytes. It grows under the lock, and the index is written after it.
    pub(super) fn journal_length(&self, run: &str) -> u64 {
        let main = self.run_dir(run).map(|dir| dir.join(MAIN));
        let found = main.and_then(|main| main.symlink_metadata().ok()).filter(|found| found.is_file());
        found.map_or(0, |found| found.len())
    }

    /// How many journals of a run were written without the lock.
    pub(super) fn alone(&self, run: &str) -> usize {
        let names = self.run_dir(run).map(|dir| journals(&dir)).unwrap_or_default();
        names.iter().filter(|name| *name != MAIN).count()
    }
}

/// The journal that is written under the lock.
pub(super) const MAIN: &str = "snapshots.jsonl";

/// The names of a run's journals.
pub(super) fn journals(dir: &Path) -> Vec<String> {
    let listing = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = listing.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("snapshots") && name.ends_with(".jsonl")).collect()
}

impl Journal {
    fn read(&mut self, path: &Path) {
        let file = match fs::open_regular(path) {
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
            match serde_json::from_slice::<Snapshot>(&line) {
                Ok(snapshot) => self.snapshots.push(snapshot),
                Err(error) => self.miss(format!("{}:{number}: {error}", path.display())),
            }
        }
    }

    fn miss(&mut self, why: String) {
        self.damaged += 1;
        self.damage.get_or_insert(why);
    }

    /// Every file as it was when it was last seen to exist.
    pub fn last(&self) -> Held {
        let mut held = Held::new();
        for snapshot in &self.snapshots {
            apply(&mut held, snapshot);
        }
        held
    }

    /// The files that existed at a moment (RFC 3339 in our spelling).
    pub fn at(&self, moment: &str) -> Held {
        let mut held = Held::new();
        for snapshot in self.snapshots.iter().take_while(|snapshot| snapshot.at.as_str() <= moment) {
            apply(&mut held, snapshot);
        }
        held.retain(|_, state| state.gone_at.is_none());
        held
    }
}

/// Carries a state over one manifest. What is gone keeps what it said.
pub fn apply(held: &mut Held, snapshot: &Snapshot) {
    for change in &snapshot.changed {
        let before = held.get(&change.path);
        // A state that could not be read takes nothing away from the one before.
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
