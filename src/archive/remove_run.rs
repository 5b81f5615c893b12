//! Removes whole runs, and contents that no run uses. Files are first moved aside and finally deleted, so that an
//! interrupted removal leaves an intact store.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::maintenance::{ExclusiveArchive, remove, rename};
use super::object_info::ObjectInfo;
use super::run::RunRecord;
use super::store::{Archive, CaptureScope};
use crate::fs::{self, Lock};

impl Archive {
    /// Whether a run has ended and its transcripts are not archived yet.
    pub fn is_unfinished(&self, run: &str) -> bool {
        self.unfinished_dir().join(run).exists()
    }
}

impl ExclusiveArchive {
    /// Removes a run, unless it changed since it was planned: it may have been reopened. Returns whether it was
    /// removed.
    ///
    /// # Errors
    /// When an I/O operation fails, or a hook call keeps the run's lock for too long.
    pub fn remove_run(&self, planned: &RunRecord) -> io::Result<bool> {
        let archive = self.archive();
        let subject = planned.subject();
        let _lock = match &subject {
            Some(subject) => match archive.lock(subject)? {
                Some(lock) => Some(lock),
                None => return Err(io::Error::new(io::ErrorKind::TimedOut, "a hook is writing it")),
            },
            None => None,
        };
        if archive.run(&planned.run).as_ref() != Some(planned) || archive.is_unfinished(&planned.run) {
            return Ok(false);
        }
        let Some(dir) = archive.run_dir(&planned.run) else { return Ok(false) };
        let aside = self.aside();
        fs::private_dir(&aside)?;
        // Remove the cache first: a cache without a run would be damage, but a run without a cache is intact.
        if let Some(subject) = &subject {
            for path in archive.index_paths(subject) {
                let is_own = archive.index_at(&path).is_some_and(|index| index.run == planned.run);
                if is_own {
                    std::fs::remove_file(&path)?;
                }
            }
        }
        let goal = aside.join(&planned.run);
        remove(&goal)?;
        rename(&dir, &goal)?;
        Ok(true)
    }

    /// Takes the locks of all running teams, so that no hook call captures them; `None` if a lock is not available in
    /// time.
    ///
    /// # Errors
    /// When the file system does not support locks.
    pub fn hold(&self) -> io::Result<Option<Vec<Lock>>> {
        let archive = self.archive();
        let mut locks = Vec::new();
        for subject in archive.open_subjects() {
            match archive.lock_budget.lock(&archive.lock_path(&subject))? {
                Some(lock) => locks.push(lock),
                None => return Ok(None),
            }
        }
        Ok(Some(locks))
    }

    /// Moves a content aside.
    ///
    /// # Errors
    /// When an I/O operation fails.
    pub fn quarantine(&self, stored: &ObjectInfo) -> io::Result<()> {
        let dir = self.aside().join("objects");
        fs::private_dir(&dir)?;
        rename(&stored.path, &dir.join(name_of(stored)))
    }

    /// Restores contents that were moved aside but are needed, and returns their number.
    ///
    /// # Errors
    /// When an I/O operation fails.
    pub fn restore_quarantined(&self, is_needed: impl Fn(&str) -> bool) -> io::Result<usize> {
        let mut count = 0;
        let dir = self.aside().join("objects");
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let hash = name.strip_suffix(".gz").unwrap_or(name);
            let Some(plain) = self.archive().objects.path(hash).filter(|_| is_needed(hash)) else { continue };
            let path = if name.ends_with(".gz") { plain.with_extension("gz") } else { plain };
            if path.symlink_metadata().is_err() {
                rename(&entry.path(), &path)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Deletes the contents that were moved aside.
    ///
    /// # Errors
    /// When an I/O operation fails.
    pub fn purge(&self) -> io::Result<()> {
        remove(&self.aside())
    }

    fn aside(&self) -> PathBuf {
        self.archive().root().join("pruned")
    }
}

fn name_of(stored: &ObjectInfo) -> String {
    if stored.packed { format!("{}.gz", stored.hash) } else { stored.hash.clone() }
}

/// Total size of the files below a directory, in bytes.
fn bytes_below(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        metadata => metadata.map_or(0, |metadata| metadata.len()),
    };
    entries.map(size).sum()
}

impl Archive {
    /// Size of a run's files on disk, in bytes, without its objects.
    pub fn run_size(&self, run: &str) -> u64 {
        self.run_dir(run).map_or(0, |dir| bytes_below(&dir))
    }

    /// Size of a run's large contents on disk, in bytes, without their recipes.
    pub fn contents_size(&self, run: &str) -> u64 {
        self.run_dir(run).map_or(0, |dir| bytes_below(&dir.join("contents")))
    }

    /// The contents that the indexes of each run name, because a hook call may rely on them.
    pub fn cached_objects(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for index in self.index_files().iter().filter_map(|(path, _)| self.index_at(path)) {
            let objects = index.files.into_values().filter_map(|seen| seen.object);
            named.entry(index.run).or_default().extend(objects);
        }
        named
    }

    fn index_paths(&self, subject: &CaptureScope) -> [PathBuf; 2] {
        [self.index_path(subject, false), self.index_path(subject, true)]
    }
}
