//! The archive's directory: paths and locks.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::index::Index;
use super::object::Objects;
use super::run::RunRecord;
use crate::config::{Config, RecordMode};
use crate::event::SafeName;
use crate::fs::{Content, JsonFile, LockBudget};

/// A unit of capturing: a team, or the task list of a session without a team.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaptureScope {
    /// A team, by its directory's name.
    Team(SafeName),
    /// A session without a team.
    Session(SafeName),
}

impl CaptureScope {
    /// The team's name.
    pub fn team(&self) -> Option<&SafeName> {
        match self {
            CaptureScope::Team(name) => Some(name),
            CaptureScope::Session(_) => None,
        }
    }

    /// The name of its directory below `teams/` and `tasks/`.
    pub fn name(&self) -> &SafeName {
        match self {
            CaptureScope::Team(name) | CaptureScope::Session(name) => name,
        }
    }

    /// The file name without the suffix: the key, or a hash of a key that is too long.
    fn stem(&self) -> String {
        match self.name().is_stem() {
            true => self.key(),
            false => format!("{LONG_NAME_PREFIX}{}", &blake3::hash(self.key().as_bytes()).to_hex()[..32]),
        }
    }

    /// The kind and the name.
    pub(super) fn key(&self) -> String {
        match self {
            CaptureScope::Team(name) => format!("team-{name}"),
            CaptureScope::Session(name) => format!("session-{name}"),
        }
    }

    /// Parses a key.
    pub(super) fn from_key(key: &str) -> Option<CaptureScope> {
        match key.split_once('-')? {
            ("team", name) => SafeName::new(name).map(CaptureScope::Team),
            ("session", name) => SafeName::new(name).map(CaptureScope::Session),
            _ => None,
        }
    }
}

/// Prefix of file names that have the hash of a key.
const LONG_NAME_PREFIX: &str = "long-";

/// The archive. Opening it does not access the disk.
#[derive(Debug, Clone)]
pub struct Archive {
    /// The objects.
    pub objects: Objects,
    /// Maximum size of a stored file, in bytes.
    pub largest: u64,
    /// Whether metadata-only mode is on: texts are stored as sizes and hashes.
    pub metadata_only: bool,
    /// The time to wait for locks.
    pub lock_budget: LockBudget,
    root: PathBuf,
}

impl Archive {
    /// The archive below this directory, as configured.
    pub fn open(root: PathBuf, config: &Config) -> Archive {
        let metadata_only = config.privacy.record == RecordMode::Metadata;
        let archive = Archive::new(root, config.archive.largest_file, config.log.lock_patience);
        Archive { metadata_only, ..archive }
    }

    /// The archive below this directory. `patience` limits the wait for all its locks together.
    pub fn new(root: PathBuf, largest: u64, patience: Duration) -> Archive {
        let objects = Objects::new(root.join("objects"));
        Archive { objects, largest, metadata_only: false, lock_budget: LockBudget::new(patience), root }
    }

    /// The index of the current run, or else of the last one of that name.
    pub fn index(&self, subject: &CaptureScope) -> Option<Index> {
        read_index(&self.index_path(subject, false)).or_else(|| read_index(&self.index_path(subject, true)))
    }

    /// Whether any files of the subject were ever captured.
    pub fn knows(&self, subject: &CaptureScope) -> bool {
        self.index_path(subject, false).exists() || self.index_path(subject, true).exists()
    }

    /// The subjects with a running run.
    pub fn open_subjects(&self) -> Vec<CaptureScope> {
        let Ok(listing) = std::fs::read_dir(self.root.join("open")) else { return Vec::new() };
        let mut subjects: Vec<CaptureScope> =
            listing.flatten().filter_map(|entry| self.subject_of(&entry.path())).collect();
        subjects.sort();
        subjects
    }

    /// The subject of an index file: from its name, or from its content if the name is a hash.
    pub(super) fn subject_of(&self, path: &Path) -> Option<CaptureScope> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
        match stem.starts_with(LONG_NAME_PREFIX) {
            true => CaptureScope::from_key(&self.index_at(path)?.key?),
            false => CaptureScope::from_key(stem),
        }
    }

    /// Reads an index file.
    pub(super) fn index_at(&self, path: &Path) -> Option<Index> {
        read_index(path)
    }

    pub(super) fn index_path(&self, subject: &CaptureScope, ended: bool) -> PathBuf {
        self.root.join(if ended { "closed" } else { "open" }).join(subject.stem() + ".json")
    }

    /// The lock file of a subject.
    pub(super) fn lock_path(&self, subject: &CaptureScope) -> PathBuf {
        self.root.join("locks").join(subject.stem())
    }

    /// The directory of pending ends.
    pub(super) fn ending_dir(&self) -> PathBuf {
        self.root.join("ending")
    }

    /// The directory with marks of ended runs whose transcripts are not archived yet.
    pub(super) fn unfinished_dir(&self) -> PathBuf {
        self.root.join("unfinished")
    }

    /// The archive's directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of the runs.
    pub(super) fn runs_dir(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The directory of a run.
    pub fn run_dir(&self, run: &str) -> Option<PathBuf> {
        SafeName::new(run).map(|run| self.root.join("runs").join(run))
    }

    /// The events of an imported or closed run; the file may not exist.
    pub fn events_file(&self, run: &str) -> Option<PathBuf> {
        self.run_dir(run).map(|dir| dir.join("events.jsonl"))
    }

    /// The description of a run.
    pub fn run(&self, run: &str) -> Option<RunRecord> {
        self.run_file(run)?.read().ok()?.valid().ok()?
    }

    /// The file with the description of a run; `None` if the ID is not valid.
    pub(super) fn run_file(&self, run: &str) -> Option<JsonFile<RunRecord>> {
        Some(JsonFile::at(self.run_dir(run)?.join("run.json")))
    }

    /// All runs, oldest first, and the names of those whose description cannot be read. The list is not complete if
    /// [`Archive::why_unlisted`] returns a reason.
    pub fn runs(&self) -> (Vec<RunRecord>, Vec<String>) {
        let (mut runs, mut damaged) = (Vec::new(), Vec::new());
        for name in self.run_names() {
            match self.run(&name) {
                Some(run) if run.run == name => runs.push(run),
                _ => damaged.push(name),
            }
        }
        runs.sort_by(|a, b| (&a.started_at, &a.run).cmp(&(&b.started_at, &b.run)));
        damaged.sort();
        (runs, damaged)
    }

    /// Why the description of a run cannot be read, and its path.
    pub fn why_damaged(&self, run: &str) -> String {
        let Some(file) = self.run_file(run) else { return format!("{run:?} is not a valid run id") };
        let why = match file.read() {
            Err(error) => return error.to_string(),
            Ok(Content::Missing) => io::Error::from_raw_os_error(2).to_string(),
            Ok(Content::Valid(other)) => format!("it describes run {:?}", other.run),
            Ok(Content::Damaged(damage)) => damage.flaw.to_string(),
        };
        format!("cannot read {}: {why}", file.path().display())
    }
}

/// Reads an index. An invalid one may be half-written, because it is overwritten in place and readers need no lock.
fn read_index(path: &Path) -> Option<Index> {
    let file = JsonFile::<Index>::at(path);
    for pause in [0, 200, 1_000, 4_000] {
        std::thread::sleep(Duration::from_micros(pause));
        if let Ok(found) = file.read().ok()?.valid() {
            return found;
        }
    }
    None
}
