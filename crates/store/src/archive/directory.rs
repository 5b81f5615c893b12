//! The archive's directory: its paths, and the files in it that need no lock.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Cursor, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::contents::{ContentError, OpenRuns, RunContents, hash, is_hash, transcript_path};
use super::index::Index;
use super::journal_points::JournalPoints;
use super::run::{CaptureScope, ConfigDir, LONG_NAME_PREFIX, RunRecord, is_run_id};
use crate::packed;
use teamkeep_config::{Config, RecordMode};
use teamkeep_model::event::SafeName;
use teamkeep_model::team::TeamConfig;
use teamkeep_system::error::Result;
use teamkeep_system::fs::{self, Draft, JsonFile, LockBudget, Stamp};

/// Beginning of the names of cached files about runs.
const RUN_CACHE: &str = "run-";
/// The directories below `teams/` with the indexes of running runs and of ended ones.
const OPEN: &str = "open";
const CLOSED: &str = "closed";

/// The archive. Opening it does not access the disk.
#[derive(Debug, Clone)]
pub struct Archive {
    /// Maximum size of a stored file, in bytes.
    pub largest: u64,
    /// Whether metadata-only mode is on: texts are stored as sizes and hashes.
    pub metadata_only: bool,
    /// The time to wait for all locks together.
    pub lock_budget: LockBudget,
    pub journal_points: JournalPoints,
    pub(super) open_runs: OpenRuns,
    pub(super) root: PathBuf,
}

/// The state of a subject's last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastRun {
    None,
    Running,
    /// With the time of its last capture or change, by the file system's clock.
    Ended(i64),
}

impl Archive {
    /// The archive in this store, as configured.
    pub fn open(root: PathBuf, config: &Config) -> Archive {
        let metadata_only = config.privacy.record == RecordMode::Metadata;
        let archive = Archive::new(root, config.archive.largest_file, config.log.lock_patience);
        Archive { metadata_only, ..archive }
    }

    pub fn new(root: PathBuf, largest: u64, patience: Duration) -> Archive {
        let (lock_budget, journal_points) = (LockBudget::new(patience), JournalPoints::default());
        let open_runs = OpenRuns::default();
        Archive { largest, metadata_only: false, lock_budget, journal_points, open_runs, root }
    }

    /// The index of the current run, or else of the last one of that name.
    pub fn index(&self, subject: &CaptureScope) -> Option<Index> {
        self.index_paths(subject).iter().find_map(|path| read_index(path))
    }

    /// The subject in this configuration directory of Claude Code, and its index: another directory may have a team of the
    /// same name. `None` for a team of another directory.
    pub fn locate(&self, subject: &CaptureScope, client: &Path) -> Option<(CaptureScope, Option<Index>)> {
        let index = self.index(subject);
        let is_here = |index: &Index| self.is_of_directory(index, subject, client);
        let is_other = index.as_ref().is_some_and(|index| !is_here(index));
        let CaptureScope::Team(name) = subject else {
            return (!is_other).then(|| (subject.clone(), index));
        };
        if index.is_some() && !is_other {
            return Some((subject.clone(), index));
        }
        let dir = ConfigDir::find(client);
        let own = dir.and_then(|dir| CaptureScope::team_in(name.clone(), &dir.path));
        let own_index = own.as_ref().and_then(|own| self.index(own));
        match own {
            Some(own) if is_other || own_index.is_some() => Some((own, own_index)),
            // The directory does not exist, so it has no team.
            None if is_other => None,
            _ => Some((subject.clone(), None)),
        }
    }

    /// Whether the index is of the subject in this configuration directory, by its path or as the very run.
    pub(super) fn is_of_directory(&self, index: &Index, subject: &CaptureScope, client: &Path) -> bool {
        match subject {
            CaptureScope::Team(name) => index.is_in(client) || is_same_run(index, name, client),
            CaptureScope::TeamIn(..) => index.is_in(client),
            // A session is in one directory, whatever its path.
            CaptureScope::Session(_) => true,
        }
    }

    /// Whether any files of the subject were ever captured.
    pub fn knows(&self, subject: &CaptureScope) -> bool {
        self.index_paths(subject).iter().any(|path| path.exists())
    }

    /// Like [`Archive::knows`], with the state of the last run.
    pub fn last_run(&self, subject: &CaptureScope) -> LastRun {
        let [open, closed] = self.index_paths(subject);
        if open.exists() {
            return LastRun::Running;
        }
        closed.metadata().map_or(LastRun::None, |found| LastRun::Ended(Stamp::of(&found).modified))
    }

    /// The subjects with a running run.
    pub fn open_subjects(&self) -> Vec<CaptureScope> {
        let entries = fs::entries(&self.teams().join(OPEN));
        let subjects: BTreeSet<_> = entries.filter_map(|entry| self.subject_of(&entry.path())).collect();
        subjects.into_iter().collect()
    }

    /// The subject of an index file: from its name, or from its content if the name is a hash.
    fn subject_of(&self, path: &Path) -> Option<CaptureScope> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
        match stem.starts_with(LONG_NAME_PREFIX) {
            true => CaptureScope::from_key(&read_index(path)?.key?),
            false => CaptureScope::from_key(stem),
        }
    }

    /// The index files of a subject: of a running run, and of one that has ended.
    pub(super) fn index_paths(&self, subject: &CaptureScope) -> [PathBuf; 2] {
        [OPEN, CLOSED].map(|dir| self.teams().join(dir).join(subject.stem() + ".json"))
    }

    /// The index files of all teams.
    pub fn index_files(&self) -> Vec<PathBuf> {
        let entries = [OPEN, CLOSED].into_iter().flat_map(|dir| fs::entries(&self.teams().join(dir)));
        let files = entries.filter(|entry| !fs::is_draft(&entry.file_name()));
        let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
        files.sort();
        files
    }

    fn teams(&self) -> PathBuf {
        self.root.join("teams")
    }

    pub fn runs_dir(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The directory of a run; `None` if the ID is not valid.
    pub fn run_dir(&self, run: &str) -> Option<PathBuf> {
        SafeName::new(run).map(|run| self.runs_dir().join(run))
    }

    /// The description of a run.
    pub fn run(&self, run: &str) -> Option<RunRecord> {
        self.run_file(run)?.known()
    }

    /// The description of a run, for a change; `None` if it is missing or damaged, so that it must be written again.
    ///
    /// # Errors
    /// When it cannot be read now. It may be intact.
    pub(super) fn run_to_change(&self, run: &str) -> io::Result<Option<RunRecord>> {
        let Some(file) = self.run_file(run) else { return Ok(None) };
        match file.read() {
            Ok(content) => Ok(content.ok().flatten()),
            // A link or a special file was never intact.
            Err(_) if file.path().symlink_metadata().is_ok_and(|found| !found.is_file()) => Ok(None),
            Err(error) => Err(error),
        }
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
        runs.sort_by(RunRecord::in_order);
        (runs, damaged)
    }

    /// The sorted names of all runs' directories, without those that have no files of a run. Errors of listing are ignored.
    pub fn run_names(&self) -> Vec<String> {
        self.names_where(|run| !self.is_empty_run(run))
    }

    fn names_where(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        // A name that is not UTF-8 is reported as damaged and not skipped.
        let names =
            fs::entries(&self.runs_dir()).map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| is_wanted(name)).collect();
        names.sort();
        names
    }

    /// The directories without any file of a run. See [`Archive::run_names`].
    pub(super) fn empty_runs(&self) -> Vec<PathBuf> {
        let names = self.names_where(|run| self.is_empty_run(run));
        names.iter().filter_map(|run| self.run_dir(run)).collect()
    }

    /// Whether nothing of a run is stored in its directory: its first hook call is running or was killed, or a late one came after
    /// the run was pruned.
    fn is_empty_run(&self, run: &str) -> bool {
        let Some(dir) = self.run_dir(run) else { return false };
        let is_dir = || dir.symlink_metadata().is_ok_and(|found| found.is_dir());
        // Files of a hook call that was late for a run that was pruned.
        const LATE: [&str; 3] = ["events", "gates.", "files.json"];
        let is_late = |name: &str| LATE.iter().any(|late| name.starts_with(late));
        let is_nothing = |name: OsString| fs::is_draft(&name) || name.to_str().is_some_and(is_late);
        let is_empty =
            |entries: Vec<fs_err::DirEntry>| entries.iter().all(|entry| is_nothing(entry.file_name()));
        // A run that was pruned has no index.
        let has_index =
            || self.index_files().iter().filter_map(|path| read_index(path)).any(|index| index.run == run);
        dir.join("run.json").symlink_metadata().is_err()
            && is_dir()
            && fs::list(&dir).is_ok_and(is_empty)
            && !has_index()
    }

    /// Why the runs cannot be listed; `None` when their directory can be listed or the store is new.
    pub fn why_unlisted(&self) -> Option<String> {
        let dir = self.runs_dir();
        // A dangling link is not a missing directory.
        if !dir.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let listed = fs_err::read_dir(&dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            return listed.err().map(|error| error.to_string());
        }
        // A hook call that was killed may have created the others.
        let has_files = |name: &&str| fs::entries(&self.teams().join(name)).next().is_some();
        let other = [OPEN, CLOSED].into_iter().find(has_files)?;
        Some(format!("{} is missing, although teams/{other}/ has files", dir.display()))
    }

    /// Why the description of a run cannot be read, and its path.
    pub fn why_damaged(&self, run: &str) -> String {
        let Some(file) = self.run_file(run) else { return format!("{run:?} is not a valid run id") };
        let why = match file.read() {
            Err(error) => return error.to_string(),
            Ok(Ok(None)) => io::Error::from_raw_os_error(2).to_string(),
            Ok(Ok(Some(other))) => format!("it describes run {:?}", other.run),
            Ok(Err(damage)) => damage.why,
        };
        format!("cannot read {}: {why}", file.path().display())
    }

    /// A file in `cache/` about a run; `None` if the ID is not valid. A prune removes it after the run.
    pub fn cache_path(&self, run: &str, name: &str) -> Option<PathBuf> {
        SafeName::new(run).map(|run| self.root.join("cache").join(format!("{RUN_CACHE}{run}-{name}")))
    }

    /// Reads a cached file about a run.
    pub fn cached<T: DeserializeOwned>(&self, run: &str, name: &str) -> Option<T> {
        let (bytes, _) = fs::read_regular(&self.cache_path(run, name)?, fs::MAX_JSON_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Caches something about a run, unless it was removed. A failure is ignored: it is computed again.
    pub fn cache(&self, run: &str, name: &str, what: &impl Serialize) {
        let is_there = self.run_file(run).is_some_and(|file| file.path().symlink_metadata().is_ok());
        if let (Some(path), Ok(bytes)) = (self.cache_path(run, name), serde_json::to_vec(what))
            && is_there
        {
            let _ = fs::write_atomic(&path, &bytes);
        }
    }

    /// Removes the cached files of runs that do not exist any more.
    pub(super) fn remove_orphaned_cache(&self) {
        for entry in fs::entries(&self.root.join("cache")) {
            let name = entry.file_name();
            let cached = name.to_str().and_then(|name| name.strip_prefix(RUN_CACHE)?.split_once('-'));
            // The directory may be the user's.
            let dir = cached.filter(|(run, _)| is_run_id(run)).and_then(|(run, _)| self.run_dir(run));
            if dir.is_some_and(|dir| dir.symlink_metadata().is_err()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Writes a file in the directory of a run, which is not created if the run was removed.
    pub fn write_note(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let dir = self.run_dir(run).ok_or(io::ErrorKind::InvalidInput)?;
        dir.join("run.json").symlink_metadata()?;
        let path = dir.join(name);
        let mut draft = Draft::create_in_existing(&path)?;
        draft.write_all(bytes)?;
        draft.rename(&path)
    }

    /// Size of a run's files on disk, in bytes.
    pub fn run_size(&self, run: &str) -> u64 {
        self.run_dir(run).map_or(0, |dir| bytes_below(&dir))
    }
}

/// Whether a directory that was not recorded has the very run of the index: its path in a container is another one.
fn is_same_run(index: &Index, team: &SafeName, client: &Path) -> bool {
    let path = client.join("teams").join(team).join("config.json");
    let config = fs::read_regular(&path, fs::MAX_JSON_BYTES).ok();
    config.and_then(|(bytes, _)| TeamConfig::parse(&bytes)).is_some_and(|config| {
        config.created_at.is_some() && config.lead_session.is_some() && !index.is_other_run(&config)
    })
}

/// Total size of the files below a directory, in bytes.
fn bytes_below(dir: &Path) -> u64 {
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        metadata => metadata.map_or(0, |metadata| metadata.len()),
    };
    fs::entries(dir).map(size).sum()
}

/// Reads an index. An invalid one counts as none: it is made again from the journal.
pub(super) fn read_index(path: &Path) -> Option<Index> {
    JsonFile::<Index>::at(path).known()
}

// Reads the contents of a run, and its transcripts, by their hashes.

impl Archive {
    /// The contents of a run, for many reads.
    pub fn contents(&self, run: &str) -> RunContents {
        // Nothing is below the directory of an invalid ID.
        RunContents::new(self.run_dir(run).unwrap_or_else(|| self.runs_dir()))
    }

    /// The run's directory. An invalid ID or hash is that of a missing content.
    fn dir_of_content(&self, run: &str, hash: &str) -> std::result::Result<PathBuf, ContentError> {
        let missing = || ContentError::Missing { hash: hash.to_owned(), dir: self.runs_dir().join(run) };
        self.run_dir(run).filter(|_| is_hash(hash)).ok_or_else(missing)
    }

    /// Reads a content of a run, or one of its transcripts, and checks its hash.
    pub fn content(&self, run: &str, hash: &str) -> std::result::Result<Vec<u8>, ContentError> {
        let dir = self.dir_of_content(run, hash)?;
        let error = match self.open_runs.with(run, &dir, |contents| contents.get(hash)) {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        let mut bytes = Vec::new();
        match transcript(&dir, hash)? {
            Some(mut reader) => reader.read_to_end(&mut bytes)?,
            None => return Err(error),
        };
        match self::hash(&bytes) == hash {
            true => Ok(bytes),
            false => Err(ContentError::Damaged { hash: hash.to_owned(), dir }),
        }
    }

    /// Opens a content of a run, or one of its transcripts, for reading in pieces. Only [`VerifyingReader::verify`] at the
    /// end checks that it is intact.
    pub fn open_content(&self, run: &str, hash: &str) -> Result<VerifyingReader> {
        let dir = self.dir_of_content(run, hash)?;
        let from: Box<dyn Read> = match transcript(&dir, hash)? {
            Some(reader) => reader,
            None => match self.open_runs.with(run, &dir, |contents| contents.open(hash))? {
                Some(reader) => reader,
                None => Box::new(Cursor::new(self.content(run, hash)?)),
            },
        };
        Ok(VerifyingReader { from, hasher: blake3::Hasher::new(), hash: hash.to_owned(), dir })
    }
}

/// The archived transcript of this hash.
fn transcript(dir: &Path, hash: &str) -> io::Result<Option<Box<dyn Read>>> {
    let opened = fs::if_exists(packed::open_packed(&transcript_path(dir, hash)))?;
    Ok(opened.map(|reader| Box::new(reader) as Box<dyn Read>))
}

/// A content being read.
pub struct VerifyingReader {
    from: Box<dyn Read>,
    hasher: blake3::Hasher,
    hash: String,
    dir: PathBuf,
}

impl Read for VerifyingReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.hasher.update(&into[..count]);
        Ok(count)
    }
}

impl VerifyingReader {
    /// Reads the rest and checks the hash. Returns the size of the rest.
    pub fn verify(mut self) -> std::result::Result<u64, ContentError> {
        let rest = io::copy(&mut self, &mut io::sink())
            .map_err(|error| fs::with_path(error, "read a content of", &self.dir))?;
        match self.hasher.finalize().to_hex().as_str() == self.hash {
            true => Ok(rest),
            false => Err(ContentError::Damaged { hash: self.hash, dir: self.dir }),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_note_does_not_create_a_removed_run_again() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1, Duration::ZERO);
        let run = archive.run_dir("0123456789abcdef").unwrap();
        let note = || archive.write_note("0123456789abcdef", "sent.json", b"{}");
        assert!(note().is_err() && !dir.path().join("runs").exists());
        std::fs::create_dir_all(&run).unwrap();
        assert!(note().is_err(), "an empty directory is not a run");
        assert_eq!(std::fs::read_dir(&run).unwrap().count(), 0);
        std::fs::write(run.join("run.json"), "{}").unwrap();
        note().unwrap();
        note().unwrap();
        assert_eq!(std::fs::read(run.join("sent.json")).unwrap(), b"{}");
        assert_eq!(run.join("sent.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&run).unwrap().count(), 2, "no temporary file stays");
    }
}
