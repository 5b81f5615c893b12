//! A run's journal: each line is a manifest with the changes between two captures. The files of a run at a given time
//! are the sum of the lines up to it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::directory::Archive;
use super::index::Index;
use super::journal_points::MAIN;
use crate::packed;
use teamkeep_model::event::{Id, SafeName};
use teamkeep_model::time::Timestamp;
use teamkeep_system::fs;

/// One line of a run's journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// Format version: 2; 1 in an export and in lines of earlier versions.
    pub v: u8,
    /// The time of the hook call; never before the previous line.
    pub at: Timestamp,
    /// The id of the hook call's event.
    pub event: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Change>,
    /// Deleted files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Whether the team's directory exists, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_dir: Option<bool>,
}

/// A file's new state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Below Claude Code's directory: `teams/<team>/inboxes/alice.json`. See also [`work_path`].
    pub path: String,
    /// The content's hash, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "hash")]
    pub object: Option<String>,
    /// In bytes.
    pub size: u64,
    /// Whether it was incomplete JSON even when it was read again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
    /// Why the content was not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// The directory of a run's worktrees: `worktrees/<name>/work.bundle`. Other paths are below Claude Code's directory.
const WORKTREES: &str = "worktrees/";

/// The path of the work in a worktree.
pub fn work_path(worktree: &SafeName) -> String {
    format!("{WORKTREES}{worktree}/work.bundle")
}

/// The name of the worktree whose work has this path.
pub fn worktree_of(path: &str) -> Option<SafeName> {
    SafeName::new(path.strip_prefix(WORKTREES)?.strip_suffix("/work.bundle")?)
}

/// A run's manifests, in the order of the captures.
#[derive(Debug, Default)]
pub struct Journal {
    pub run: String,
    pub snapshots: Vec<Snapshot>,
    /// How many lines could not be read.
    pub damaged: usize,
    /// Position and reason of the first one.
    pub damage: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FileState {
    /// The content's hash; `None` if it could not be stored.
    pub object: Option<String>,
    /// Whether it was incomplete JSON.
    pub torn: bool,
    /// If it is incomplete, the last complete content before it.
    pub whole: Option<String>,
    /// When this state was first seen.
    pub at: Timestamp,
    /// When it was first missing.
    pub gone_at: Option<Timestamp>,
}

/// The files of a run at a given time, by path below Claude Code's directory.
pub type FileTree = BTreeMap<String, FileState>;

impl Snapshot {
    /// Parses a line of a journal: an object, or an array of the same fields in the same order.
    pub fn parse(line: &[u8]) -> serde_json::Result<Snapshot> {
        let mut snapshot: Snapshot = serde_json::from_slice(line)?;
        if !snapshot.at.is_valid() {
            snapshot.at = snapshot.event_time().unwrap_or_default();
        }
        Ok(snapshot)
    }

    /// The line of a journal, including the line break: an array of its fields, as short as possible.
    pub fn line(&self) -> Vec<u8> {
        let at = Some(self.at).filter(|at| self.event_time() != Some(*at));
        let fields = vec![
            self.v.into(),
            at.map(|at| at.to_string()).unwrap_or_default().into(),
            self.event.as_str().into(),
            self.changed.iter().map(Change::fields).collect(),
            self.gone.as_slice().into(),
            self.team_dir.into(),
        ];
        format!("{}\n", short(fields)).into_bytes()
    }

    fn event_time(&self) -> Option<Timestamp> {
        Id::known(&self.event)?.time()
    }

    /// A problem in the manifest.
    pub fn flaw(&self) -> Option<String> {
        if self.v == 0 {
            return Some("it has no version".to_owned());
        }
        if !self.at.is_valid() {
            return Some("invalid time".to_owned());
        }
        let is_inside =
            |path: &str| path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'));
        let mut paths = self.changed.iter().map(|change| &change.path).chain(&self.gone);
        let bad = paths.find(|path| !is_inside(path))?;
        Some(format!("{bad:?} is not a path below Claude Code's directory"))
    }
}

impl Change {
    fn fields(&self) -> Value {
        let mut fields =
            vec![self.path.as_str().into(), self.object.as_deref().map(short_hash).into(), self.size.into()];
        if self.torn || self.skipped.is_some() {
            fields.extend([self.torn.into(), self.skipped.as_deref().into()]);
        }
        short(fields)
    }
}

/// An array without the empty values at its end.
fn short(mut fields: Vec<Value>) -> Value {
    let is_empty = |field: &mut Value| field.is_null() || field.as_array().is_some_and(Vec::is_empty);
    while fields.pop_if(is_empty).is_some() {}
    Value::Array(fields)
}

/// A hash in 43 characters of base64.
fn short_hash(hash: &str) -> String {
    let bytes = blake3::Hash::from_hex(hash).map(|hash| URL_SAFE_NO_PAD.encode(hash.as_bytes()));
    bytes.unwrap_or_else(|_| hash.to_owned())
}

/// Reads a hash in base64 or in hexadecimal digits.
fn hash<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.map(|text| match URL_SAFE_NO_PAD.decode(&text).ok().and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => blake3::Hash::from_bytes(bytes).to_hex().to_string(),
        None => text,
    }))
}

impl Archive {
    /// Reads the intact part of a run's journal.
    pub fn journal(&self, run: &str) -> Journal {
        let mut journal = Journal { run: run.to_owned(), ..Journal::default() };
        let Some(dir) = self.run_dir(run) else { return journal };
        let mut names = journals(&dir);
        // A line of the main journal may have been moved to the time of a line written without the lock, so it comes
        // after that.
        names.sort_by_key(|name| (name == MAIN, name.clone()));
        for name in names {
            journal.read(&dir.join(name));
        }
        // The sort is stable: captures with the same time stay in the order of the journal.
        journal.snapshots.sort_by_key(|snapshot| snapshot.at);
        journal
    }

    /// The files of a run's journal.
    pub fn journal_files(&self, run: &str) -> Vec<PathBuf> {
        let Some(dir) = self.run_dir(run) else { return Vec::new() };
        let files = journals(&dir).into_iter().map(|name| dir.join(name));
        files.map(|path| if path.symlink_metadata().is_ok() { path } else { packed::packed(&path) }).collect()
    }

    /// The uncompressed size of a run's journals, in bytes. Journals only grow.
    pub fn journal_size(&self, run: &str) -> u64 {
        let Some(dir) = self.run_dir(run) else { return 0 };
        journals(&dir).into_iter().filter_map(|name| packed::plain_size(&dir.join(name))).sum()
    }

    /// The number of bytes that the run's journal is shorter than in the index; negative if a writer was killed before
    /// it updated the index.
    pub(super) fn missing(&self, index: &Index) -> i64 {
        index.journal.map_or(0, |known| known as i64 - self.journal_length(&index.run) as i64)
    }

    /// Uncompressed size of the journal that is written under the lock, in bytes.
    pub(super) fn journal_length(&self, run: &str) -> u64 {
        self.run_dir(run).and_then(|dir| packed::plain_size(&dir.join(MAIN))).unwrap_or(0)
    }

    /// Number of the run's journals that were written without the lock.
    pub(super) fn unlocked_journals(&self, run: &str) -> usize {
        let names = self.run_dir(run).map(|dir| journals(&dir)).unwrap_or_default();
        names.iter().filter(|name| *name != MAIN).count()
    }
}

/// The names of a run's journals, without the suffix of compressed ones.
fn journals(dir: &Path) -> Vec<String> {
    let names = fs::entries(dir).filter_map(|entry| entry.file_name().into_string().ok());
    let plain = names.map(|name| name.strip_suffix(".gz").map(str::to_owned).unwrap_or(name));
    let mut names: Vec<String> =
        plain.filter(|name| name.starts_with("snapshots") && name.ends_with(".jsonl")).collect();
    names.sort();
    names.dedup();
    names
}

impl Journal {
    fn read(&mut self, path: &Path) {
        let file = match packed::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => return self.add_damage(error.to_string()),
        };
        for (number, line) in (1..).zip(BufReader::new(file).split(b'\n')) {
            let line = match line {
                Ok(line) => line,
                Err(error) => return self.add_damage(format!("cannot read {}: {error}", path.display())),
            };
            if line.is_empty() {
                continue;
            }
            match Snapshot::parse(&line) {
                Ok(snapshot) => self.snapshots.push(snapshot),
                Err(error) => self.add_damage(format!("{}:{number}: {error}", path.display())),
            }
        }
    }

    fn add_damage(&mut self, why: String) {
        self.damaged += 1;
        self.damage.get_or_insert(why);
    }

    /// The last existing state of every file.
    pub fn last(&self) -> FileTree {
        sum(&self.snapshots)
    }

    /// The files that existed at a time.
    pub fn at(&self, moment: Timestamp) -> FileTree {
        let count = self.snapshots.partition_point(|snapshot| snapshot.at <= moment);
        let mut tree = sum(&self.snapshots[..count]);
        tree.retain(|_, state| state.gone_at.is_none());
        tree
    }

    /// Whether the team's directory existed at the last capture, if the journal has that.
    pub(super) fn team_dir(&self) -> Option<bool> {
        self.snapshots.iter().rev().find_map(|snapshot| snapshot.team_dir)
    }
}

fn sum(snapshots: &[Snapshot]) -> FileTree {
    let mut tree = FileTree::new();
    snapshots.iter().for_each(|snapshot| apply(&mut tree, snapshot));
    tree
}

/// Applies one manifest to a state. A deleted file keeps its last content.
pub fn apply(tree: &mut FileTree, snapshot: &Snapshot) {
    for change in &snapshot.changed {
        let before = tree.get(&change.path);
        // A state that could not be read does not replace the one before.
        let object = change.object.clone().or_else(|| before?.object.clone());
        let complete =
            |state: &FileState| if state.torn { state.whole.clone() } else { state.object.clone() };
        let whole = before.filter(|_| change.torn).and_then(complete);
        let state = FileState { object, torn: change.torn, whole, at: snapshot.at, gone_at: None };
        tree.insert(change.path.clone(), state);
    }
    for path in &snapshot.gone {
        if let Some(state) = tree.get_mut(path) {
            state.gone_at.get_or_insert(snapshot.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_model::time;

    fn snapshot() -> Snapshot {
        let at = time::parse("2026-02-03T04:05:06.789Z").unwrap();
        let path = "teams/crew/inboxes/alice.json".to_owned();
        let object = Some(blake3::hash(b"[]").to_hex().to_string());
        let changed = vec![Change { path, object, size: 2, torn: false, skipped: None }];
        let event = Id::new(at).to_string();
        Snapshot { v: 2, at, event, changed, gone: Vec::new(), team_dir: None }
    }

    #[test]
    fn a_line_comes_back_whatever_it_leaves_out() {
        let one = snapshot();
        let text = String::from_utf8(one.line()).unwrap();
        assert!(text.starts_with("[2,\"\",\"") && text.ends_with(",2]]]\n"), "{text}");
        assert!(text.len() < 130, "{text}");
        let skipped = Change { path: "a".into(), skipped: Some("a link".into()), ..Change::default() };
        let torn = Change { torn: true, ..one.changed[0].clone() };
        let later = time::parse("2026-02-03T04:05:06.790Z").unwrap();
        for other in [
            one.clone(),
            Snapshot { at: later, ..one.clone() },
            Snapshot { team_dir: Some(false), ..one.clone() },
            Snapshot { event: "x".into(), gone: vec!["b".into()], ..one.clone() },
            Snapshot { changed: vec![torn, skipped, one.changed[0].clone()], ..one.clone() },
        ] {
            assert_eq!(Snapshot::parse(&other.line()).unwrap(), other);
            assert_eq!(Snapshot::parse(&serde_json::to_vec(&other).unwrap()).unwrap(), other);
        }
    }

    #[test]
    fn a_line_without_a_time_is_flawed_unless_its_event_has_one() {
        let text = String::from_utf8(snapshot().line()).unwrap();
        assert_eq!(Snapshot::parse(text.as_bytes()).unwrap().flaw(), None);
        let other = Snapshot::parse(br#"[2,"","x"]"#).unwrap();
        assert_eq!(other.flaw().as_deref(), Some("invalid time"));
    }
}
