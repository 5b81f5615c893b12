//! The archive's directory: where what stands, and who may write it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::index::{Index, Seen};
use super::object::{self, Objects};
use super::pack::Pack;
use super::run::RunRecord;
use crate::event::SafeName;
use crate::fs::{self, Lock};

/// What is captured together: a team, or the task list of a session without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A team, by its directory's name.
    Team(SafeName),
    /// A session that has no team.
    Session(SafeName),
}

impl Subject {
    /// The team's name.
    pub fn team(&self) -> Option<&SafeName> {
        match self {
            Subject::Team(name) => Some(name),
            Subject::Session(_) => None,
        }
    }

    /// The name of its directory below `teams/` and `tasks/`.
    pub fn name(&self) -> &SafeName {
        match self {
            Subject::Team(name) | Subject::Session(name) => name,
        }
    }

    /// The name of its files.
    pub(super) fn key(&self) -> String {
        match self {
            Subject::Team(name) => format!("team-{name}"),
            Subject::Session(name) => format!("session-{name}"),
        }
    }

    /// Reads a file's name again.
    pub(super) fn from_key(key: &str) -> Option<Subject> {
        match key.split_once('-')? {
            ("team", name) => SafeName::new(name).map(Subject::Team),
            ("session", name) => SafeName::new(name).map(Subject::Session),
            _ => None,
        }
    }
}

/// How long a lock is waited for when all patience is used up.
const MOMENT: Duration = Duration::from_millis(10);

/// The archive. Opening it touches nothing.
#[derive(Debug, Clone)]
pub struct Archive {
    /// The contents by their hash.
    pub objects: Objects,
    /// The largest file that is kept, in bytes.
    pub largest: u64,
    /// Whether texts are kept as sizes and hashes.
    pub veiled: bool,
    root: PathBuf,
    patience: Duration,
    /// Microseconds that were waited for locks already: the patience is for all of a call's together.
    waited: Arc<AtomicU64>,
}

impl Archive {
    /// The archive below this directory; all its locks together are waited for no longer than `patience`.
    pub fn new(root: PathBuf, largest: u64, patience: Duration) -> Archive {
        let objects = Objects::new(root.join("objects"));
        Archive { objects, largest, veiled: false, root, patience, waited: Arc::default() }
    }

    /// The same archive with a patience of its own.
    pub(super) fn with_patience(&self, patience: Duration) -> Archive {
        Archive { patience, waited: Arc::default(), ..self.clone() }
    }

    /// What is left of the patience. A lock that is kept for a moment only is waited for in any case.
    pub fn patience(&self) -> Duration {
        let waited = Duration::from_micros(self.waited.load(Ordering::Relaxed));
        self.patience.saturating_sub(waited).max(self.patience.min(MOMENT))
    }

    /// Takes away from the patience what was waited since, here or for another lock of the same call.
    pub fn has_waited(&self, since: Instant) {
        let waited = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.waited.fetch_add(waited.min(u64::MAX >> 8), Ordering::Relaxed);
    }

    /// What was last captured: of the run under way, else of the last one of that name.
    pub fn index(&self, subject: &Subject) -> Option<Index> {
        read_index(&self.index_path(subject, false)).or_else(|| read_index(&self.index_path(subject, true)))
    }

    /// What a file of a run said when it was last captured whole, as far as that can be read.
    pub fn content(&self, run: &str, seen: &Seen) -> Option<Vec<u8>> {
        let hash = seen.content()?;
        let pack = self.run_dir(run).zip(seen.recipe);
        let latest = pack.and_then(|(dir, recipe)| Pack::new(dir).get(recipe).ok());
        // The recipe may be that of a content before it.
        latest.filter(|bytes| object::hash(bytes) == hash).or_else(|| self.objects.get(hash).ok())
    }

    /// Whether anything of it was ever captured.
    pub fn knows(&self, subject: &Subject) -> bool {
        self.index_path(subject, false).exists() || self.index_path(subject, true).exists()
    }

    /// What has a run under way.
    pub fn open_subjects(&self) -> Vec<Subject> {
        let Ok(listing) = std::fs::read_dir(self.root.join("open")) else { return Vec::new() };
        let names = listing.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut subjects: Vec<Subject> =
            names.filter_map(|name| Subject::from_key(name.strip_suffix(".json")?)).collect();
        subjects.sort();
        subjects
    }

    /// Reads an index file.
    pub(super) fn index_at(&self, path: &Path) -> Option<Index> {
        read_index(path)
    }

    pub(super) fn index_path(&self, subject: &Subject, ended: bool) -> PathBuf {
        self.root.join(if ended { "closed" } else { "open" }).join(subject.key() + ".json")
    }

    /// The right to write what concerns this subject; `None` when somebody else keeps it for too long.
    pub(super) fn lock(&self, subject: &Subject) -> io::Result<Option<Lock>> {
        let start = Instant::now();
        let lock = fs::lock(&self.root.join("locks").join(subject.key()), self.patience());
        self.has_waited(start);
        lock
    }

    /// Whether no process can ever have this lock.
    pub(super) fn is_lock_obstructed(&self, subject: &Subject) -> bool {
        fs::is_obstructed(&self.root.join("locks").join(subject.key()))
    }

    /// Writes the index to its place, and takes it away from the other one. It can be made again from the journal.
    pub(super) fn save_index(&self, _lock: &Lock, subject: &Subject, index: &Index) -> io::Result<()> {
        let was_there = fs::write_over(&self.index_path(subject, index.ended), serde_json::to_vec(index)?)?;
        if was_there && !index.ended {
            return Ok(());
        }
        match std::fs::remove_file(self.index_path(subject, !index.ended)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Where ends are noted that could not be written into the run's record yet.
    pub(super) fn ending_dir(&self) -> PathBuf {
        self.root.join("ending")
    }

    /// Where ended runs are noted whose transcripts are not kept yet.
    pub(super) fn unfinished_dir(&self) -> PathBuf {
        self.root.join("unfinished")
    }

    /// The archive's directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the runs are.
    pub(super) fn runs_dir(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The directory of a run.
    pub fn run_dir(&self, run: &str) -> Option<PathBuf> {
        SafeName::new(run).map(|run| self.root.join("runs").join(run))
    }

    /// The events that an imported run brought along; there is no such file of a run that was recorded here.
    pub fn events_file(&self, run: &str) -> Option<PathBuf> {
        self.run_dir(run).map(|dir| dir.join("events.jsonl"))
    }

    /// What a run is.
    pub fn run(&self, run: &str) -> Option<RunRecord> {
        read_json(&self.run_dir(run)?.join("run.json"))
    }

    pub(super) fn save_run(&self, _lock: &Lock, run: &RunRecord, durable: bool) -> io::Result<()> {
        let dir = self.run_dir(&run.run).ok_or(io::ErrorKind::InvalidInput)?;
        write_json(&dir.join("run.json"), run, durable)
    }

    /// Every run on record, the oldest first, and the names of those whose record cannot be read. That there are none
    /// says nothing where [`Archive::why_unlisted`] does.
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

    /// Why the record of a run cannot be read, and where it is.
    pub fn why_damaged(&self, run: &str) -> String {
        let Some(dir) = self.run_dir(run) else { return format!("{run:?} is no name of a run") };
        let path = dir.join("run.json");
        let why = match fs::read_regular(&path, LARGEST) {
            Err(error) => return error.to_string(),
            Ok((bytes, _)) => match serde_json::from_slice::<RunRecord>(&bytes) {
                Err(error) => error.to_string(),
                Ok(other) => format!("it is the record of run {:?}", other.run),
            },
        };
        format!("cannot read {}: {why}", path.display())
    }

    /// Changes what is known of the subject's latest run, as one step. The change says whether it changed anything.
    ///
    /// # Errors
    /// When the disk refuses or the lock is kept by somebody else for too long.
    pub fn amend(
        &self,
        subject: &Subject,
        change: impl FnOnce(&mut Index, &mut RunRecord) -> bool,
    ) -> io::Result<bool> {
        let Some(lock) = self.lock(subject)? else {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the archive's lock is kept by another process",
            ));
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

/// No record of ours is larger: the index of 100,000 files has some 25 MB.
const LARGEST: u64 = 1 << 28;

/// An index that makes no sense may be half-written: who reads it need not hold the lock.
fn read_index(path: &Path) -> Option<Index> {
    for pause in [0, 200, 1_000, 4_000] {
        std::thread::sleep(Duration::from_micros(pause));
        let (bytes, _) = fs::read_regular(path, LARGEST).ok()?;
        // A run whose name leads elsewhere would keep every look from writing, for ever.
        let sane = |index: &Index| SafeName::new(&index.run).is_some();
        if let Some(index) = serde_json::from_slice(&bytes).ok().filter(sane) {
            return Some(index);
        }
    }
    None
}

/// Reads one of our own files. What stands in its place is not followed and not waited for.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read_regular(path, LARGEST).ok()?.0).ok()
}

pub(super) fn write_json(path: &Path, value: &impl Serialize, durable: bool) -> io::Result<()> {
    fs::write_atomic(path, &serde_json::to_vec(value)?, durable)
}
