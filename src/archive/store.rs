//! The archive's directory: paths and locks.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::index::Index;
use super::object::Objects;
use super::run::RunRecord;
use crate::event::SafeName;
use crate::fs::{self, Lock};

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

/// How long to wait for a lock when the time limit for all locks is used up.
const MIN_LOCK_WAIT: Duration = Duration::from_millis(10);

/// The archive. Opening it does not access the disk.
#[derive(Debug, Clone)]
pub struct Archive {
    /// The objects.
    pub objects: Objects,
    /// Maximum size of a stored file, in bytes.
    pub largest: u64,
    /// Whether metadata-only mode is on: texts are stored as sizes and hashes.
    pub metadata_only: bool,
    root: PathBuf,
    patience: Duration,
    /// Time already spent waiting for locks, in microseconds: the limit applies to all locks of a call together.
    waited: Arc<AtomicU64>,
}

impl Archive {
    /// The archive below this directory. `patience` limits the wait for all its locks together.
    pub fn new(root: PathBuf, largest: u64, patience: Duration) -> Archive {
        let objects = Objects::new(root.join("objects"));
        Archive { objects, largest, metadata_only: false, root, patience, waited: Arc::default() }
    }

    /// The same archive with another time limit.
    pub(super) fn with_patience(&self, patience: Duration) -> Archive {
        Archive { patience, waited: Arc::default(), ..self.clone() }
    }

    /// The remaining time to wait for locks. At least a moment, for locks that are held only briefly.
    pub fn patience(&self) -> Duration {
        let waited = Duration::from_micros(self.waited.load(Ordering::Relaxed));
        self.patience.saturating_sub(waited).max(self.patience.min(MIN_LOCK_WAIT))
    }

    /// Subtracts the time since then, spent waiting for this or another lock of the call.
    pub fn charge_lock_wait(&self, since: Instant) {
        let waited = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.waited.fetch_add(waited.min(u64::MAX >> 8), Ordering::Relaxed);
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

    /// Takes the write lock of a subject; `None` if another process keeps it for too long.
    pub(super) fn lock(&self, subject: &CaptureScope) -> io::Result<Option<Lock>> {
        let start = Instant::now();
        let lock = fs::lock(&self.root.join("locks").join(subject.stem()), self.patience());
        self.charge_lock_wait(start);
        lock
    }

    /// Whether no process can ever take this lock.
    pub(super) fn is_lock_obstructed(&self, subject: &CaptureScope) -> bool {
        fs::is_blocked_by_other_file(&self.root.join("locks").join(subject.stem()))
    }

    /// Writes the index, and removes it from the other directory. It can be rebuilt from the journal.
    pub(super) fn save_index(&self, _lock: &Lock, subject: &CaptureScope, index: &Index) -> io::Result<()> {
        let bytes = match subject.name().is_stem() {
            true => serde_json::to_vec(index)?,
            false => serde_json::to_vec(&Index { key: Some(subject.key()), ..index.clone() })?,
        };
        let was_there = fs::overwrite_in_place(&self.index_path(subject, index.ended), bytes)?;
        if was_there && !index.ended {
            return Ok(());
        }
        match std::fs::remove_file(self.index_path(subject, !index.ended)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
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
        read_json(&self.run_dir(run)?.join("run.json"))
    }

    pub(super) fn save_run(&self, _lock: &Lock, run: &RunRecord, durable: bool) -> io::Result<()> {
        let dir = self.run_dir(&run.run).ok_or(io::ErrorKind::InvalidInput)?;
        write_json(&dir.join("run.json"), run, durable)
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
        let Some(dir) = self.run_dir(run) else { return format!("{run:?} is not a valid run id") };
        let path = dir.join("run.json");
        let why = match fs::read_regular(&path, MAX_BYTES) {
            Err(error) => return error.to_string(),
            Ok((bytes, _)) => match serde_json::from_slice::<RunRecord>(&bytes) {
                Err(error) => error.to_string(),
                Ok(other) => format!("it describes run {:?}", other.run),
            },
        };
        format!("cannot read {}: {why}", path.display())
    }

    /// Changes the description and the index of the subject's latest run in one step. The closure returns whether it
    /// changed anything.
    ///
    /// # Errors
    /// When an I/O operation fails, or another process keeps the lock for too long.
    pub fn update_run(
        &self,
        subject: &CaptureScope,
        change: impl FnOnce(&mut Index, &mut RunRecord) -> bool,
    ) -> io::Result<bool> {
        let Some(lock) = self.lock(subject)? else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds the archive's lock"));
        };
        let Some(mut index) = self.index(subject) else { return Ok(false) };
        let mut run = self.run(&index.run).unwrap_or_else(|| self.rebuilt_run(subject, &index));
        if !change(&mut index, &mut run) {
            return Ok(false);
        }
        if run.ended_at.is_some() && !index.ended {
            self.mark_unfinished(&run.run)?;
        }
        index.ended = run.ended_at.is_some();
        self.save_run(&lock, &run, false)?;
        self.save_index(&lock, subject, &index)?;
        Ok(true)
    }
}

/// Maximum size of a JSON file of the archive, in bytes: the index of 100,000 files has about 25 MB.
const MAX_BYTES: u64 = 1 << 28;

/// An invalid index may be half-written, because readers need not hold the lock.
fn read_index(path: &Path) -> Option<Index> {
    for pause in [0, 200, 1_000, 4_000] {
        std::thread::sleep(Duration::from_micros(pause));
        let (bytes, _) = fs::read_regular(path, MAX_BYTES).ok()?;
        // An invalid run id would prevent all future captures.
        let sane = |index: &Index| SafeName::new(&index.run).is_some();
        if let Some(index) = serde_json::from_slice(&bytes).ok().filter(sane) {
            return Some(index);
        }
    }
    None
}

/// Reads a JSON file of the store. Does not follow links or wait for pipes.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read_regular(path, MAX_BYTES).ok()?.0).ok()
}

pub(super) fn write_json(path: &Path, value: &impl Serialize, durable: bool) -> io::Result<()> {
    fs::write_atomic(path, &serde_json::to_vec(value)?, durable)
}
