//! Adds, compresses and removes whole runs. Hook calls do not take part: an added run appears when it is complete, and a removed one
//! disappears at once. Removed files are first moved aside and finally deleted, so that an interrupted removal leaves an
//! intact store.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::contents;
use super::directory::{Archive, read_index};
use super::journal_points::MAIN;
use super::run::RunRecord;
use crate::packed;
use teamkeep_model::event::Id;
use teamkeep_model::time::HOUR;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::{self, Lock};
use teamkeep_system::os;
use teamkeep_system::store_lock::StoreLock;

/// The lock for adding and removing runs: one process at a time.
#[derive(Debug)]
pub struct ExclusiveArchive {
    pub archive: Archive,
    _lock: Lock,
}

/// A temporary directory, removed on drop.
#[derive(Debug)]
pub struct Staging {
    pub dir: PathBuf,
}

impl Archive {
    /// Takes the lock.
    pub fn maintain(&self, patience: Duration) -> Result<ExclusiveArchive> {
        match StoreLock::Changes.take(&self.root, patience)? {
            Some(lock) => Ok(ExclusiveArchive { archive: self.clone(), _lock: lock }),
            None => Err(Error::new("cannot change the archive: another import or prune is running")
                .hint("try again when it has finished")),
        }
    }

    /// The directory of temporary directories. A link would lead out of the store, and what it names would be deleted.
    fn tmp(&self) -> io::Result<PathBuf> {
        let tmp = self.root.join("tmp");
        if tmp.is_symlink() {
            return Err(io::Error::other(format!("{} is a link", tmp.display())));
        }
        Ok(tmp)
    }

    /// Creates an empty temporary directory for a hook call, and removes those of killed ones.
    pub fn scratch(&self, call: &Id) -> io::Result<Staging> {
        let root = self.tmp()?;
        let is_old = |entry: &std::fs::DirEntry| {
            let age = entry.metadata().and_then(|metadata| metadata.modified()).map(|time| time.elapsed());
            age.is_ok_and(|age| age.is_ok_and(|age| age > HOUR))
        };
        // Their hook calls were killed. The directories of imports and of prunes have other names.
        let is_of_call = |entry: &std::fs::DirEntry| {
            entry.file_name().to_str().is_some_and(|name| Id::known(name).is_some())
        };
        for entry in fs::entries(&root).filter(is_of_call).filter(is_old) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
        let staging = Staging { dir: root.join(call.as_str()) };
        fs::private_dir(&staging.dir).map(|()| staging)
    }

    /// Compresses the contents and the journal of a run that has ended, unless the run continues. After an error, the files that
    /// are not compressed are unchanged.
    pub fn compress(&self, run: &RunRecord) -> io::Result<()> {
        let Some(dir) = self.run_dir(&run.run) else { return Ok(()) };
        for path in [contents::DATA, contents::LIST, MAIN].map(|name| dir.join(name)) {
            packed::compress(&path, |draft, size| {
                let Some(subject) = run.subject() else { return Ok(()) };
                let Some(_lock) = self.lock(&subject)? else { return Ok(()) };
                let has_ended = self.run(&run.run).is_some_and(|now| now.ended_at.is_some());
                let is_same = has_ended && path.symlink_metadata()?.len() == size;
                if is_same { packed::replace(&path, draft) } else { Ok(()) }
            })?;
        }
        Ok(())
    }
}

impl ExclusiveArchive {
    /// Creates an empty staging directory, and removes the one of a killed import.
    pub fn staging(&self) -> io::Result<Staging> {
        let dir = self.archive.tmp()?.join("import");
        fs::allow_missing(fs_err::remove_dir_all(&dir))?;
        fs::private_dir(&dir)?;
        Ok(Staging { dir })
    }

    /// Makes a staged run visible, which must not exist.
    pub fn publish_run(&self, staged: &Path, run: &str) -> io::Result<()> {
        let dir = self.archive.run_dir(run).ok_or(io::ErrorKind::InvalidInput)?;
        let runs = self.archive.runs_dir();
        fs::private_dir(&runs)?;
        sync_below(staged)?;
        os::files::rename(staged, &dir)?;
        fs::sync(&runs)
    }

    /// Removes a run, unless it changed since it was planned: it may have been reopened, or a late hook call may have added
    /// to its journal, which had this size. Returns whether it was removed.
    pub fn remove_run(&self, planned: &RunRecord, journal_size: u64) -> io::Result<bool> {
        let archive = &self.archive;
        let subject = planned.subject();
        let lock = subject.as_ref().map(|subject| archive.lock(subject)).transpose()?;
        if matches!(lock, Some(None)) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a hook is writing it"));
        }
        let is_same = archive.run(&planned.run).as_ref() == Some(planned)
            && archive.journal_size(&planned.run) == journal_size;
        if !is_same || archive.is_unfinished(&planned.run) {
            return Ok(false);
        }
        let Some(dir) = archive.run_dir(&planned.run) else { return Ok(false) };
        let aside = self.aside()?;
        fs::private_dir(&aside)?;
        // Remove the cache first: a cache without a run would be damage, but a run without a cache is intact.
        for path in subject.iter().flat_map(|subject| archive.index_paths(subject)) {
            if read_index(&path).is_some_and(|index| index.run == planned.run) {
                fs_err::remove_file(&path)?;
            }
        }
        let to = aside.join(&planned.run);
        fs::allow_missing(fs_err::remove_dir_all(&to))?;
        os::files::rename(&dir, &to)?;
        Ok(true)
    }

    /// Removes the directories without files of a run that nothing was added to for so long. Returns how many there were.
    pub fn remove_empty_runs(&self, age: Duration) -> io::Result<usize> {
        let mut count = 0;
        for dir in self.archive.empty_runs() {
            // A hook call that writes to the directory changes this time, and creates the directory if it is missing.
            let changed = fs_err::metadata(&dir)?.modified()?;
            if changed.elapsed().is_ok_and(|since| since > age) {
                fs_err::remove_dir_all(&dir)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Deletes the files that were moved aside, and the cached files of removed runs.
    pub fn purge(&self) -> io::Result<()> {
        self.archive.remove_orphaned_cache();
        fs::allow_missing(fs_err::remove_dir_all(self.aside()?))
    }

    fn aside(&self) -> io::Result<PathBuf> {
        Ok(self.archive.tmp()?.join("pruned"))
    }
}

/// Syncs the files and directories below a directory, and the directory.
fn sync_below(dir: &Path) -> io::Result<()> {
    for entry in fs::list(dir)? {
        match entry.file_type()?.is_dir() {
            true => sync_below(&entry.path())?,
            false => fs::sync(&entry.path())?,
        }
    }
    fs::sync(dir)
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
