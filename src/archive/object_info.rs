//! Access to all files of the archive, for verify, prune and export.

use std::io;
use std::path::{Path, PathBuf};

use super::file_tree::journals;
use super::object::{ObjectError, Objects};
use super::pack::packed;
use super::store::{Archive, CaptureScope};
use crate::fs;

/// An object's file on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The hash in its name.
    pub hash: String,
    /// The file.
    pub path: PathBuf,
    /// Its size on disk.
    pub size: u64,
    /// Whether it is compressed.
    pub packed: bool,
}

impl Objects {
    /// Calls `each` for every object. Skips files that do not belong to teamkeep and temporary files of killed writers.
    ///
    /// # Errors
    /// When a directory cannot be listed, or `each` fails.
    pub fn each(&self, mut each: impl FnMut(ObjectInfo) -> io::Result<()>) -> io::Result<()> {
        for digit in "0123456789abcdef".chars() {
            let dir = self.root().join(digit.to_string());
            for entry in list(&dir)? {
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
                let (rest, packed) = match name.strip_suffix(".gz") {
                    Some(rest) => (rest, true),
                    None => (name.as_str(), false),
                };
                let hash = format!("{digit}{rest}");
                if !Objects::is_hash(&hash) {
                    continue;
                }
                // Pruned in the meantime.
                let Ok(metadata) = entry.metadata() else { continue };
                each(ObjectInfo { hash, path: entry.path(), size: metadata.len(), packed })?;
            }
        }
        Ok(())
    }

    /// The files of an object: none, one, or both the plain and the compressed one.
    pub fn stored(&self, hash: &str) -> Vec<ObjectInfo> {
        let Some(plain) = self.path(hash) else { return Vec::new() };
        let both = [(plain.clone(), false), (plain.with_extension("gz"), true)];
        let there = both.into_iter().filter_map(|(path, packed)| {
            let size = path.symlink_metadata().ok()?.len();
            Some(ObjectInfo { hash: hash.to_owned(), path, size, packed })
        });
        there.collect()
    }

    /// Checks that a file has the content that its name claims, in bounded memory.
    ///
    /// # Errors
    /// When it cannot be read, or has another hash.
    pub fn check(&self, stored: &ObjectInfo) -> Result<(), ObjectError> {
        self.reading(stored)?.verify()
    }
}

impl Archive {
    /// The names of all runs' directories. Errors of listing are ignored.
    pub fn run_names(&self) -> Vec<String> {
        let listing = std::fs::read_dir(self.runs_dir()).into_iter().flatten().flatten();
        // A name that is not UTF-8 is reported as damaged and not skipped.
        let mut names: Vec<String> =
            listing.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The directory of the runs, for messages.
    pub fn runs_path(&self) -> PathBuf {
        self.runs_dir()
    }

    /// Why the runs cannot be listed; `None` when their directory can be listed or the store is new.
    pub fn why_unlisted(&self) -> Option<String> {
        let dir = self.runs_dir();
        // A dangling link is not a missing directory.
        let missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        if !dir.symlink_metadata().is_err_and(|error| missing(&error)) {
            return std::fs::read_dir(&dir)
                .and_then(|listing| listing.collect::<io::Result<Vec<_>>>())
                .err()
                .map(|error| fs::with_path(error, "list", &dir).to_string());
        }
        let others = ["objects", "open", "closed"].into_iter().find(|name| self.root().join(name).exists());
        others.map(|other| format!("{} is missing, although {other}/ exists", dir.display()))
    }

    /// The files of a run's journal.
    pub fn journal_files(&self, run: &str) -> Vec<PathBuf> {
        let Some(dir) = self.run_dir(run) else { return Vec::new() };
        let files = journals(&dir).into_iter().map(|name| dir.join(name));
        files.map(|path| if path.symlink_metadata().is_ok() { path } else { packed(&path) }).collect()
    }

    /// The index files of all teams, each with its subject; `None` for a name that teamkeep does not use.
    pub fn index_files(&self) -> Vec<(PathBuf, Option<CaptureScope>)> {
        let mut files = Vec::new();
        for dir in ["open", "closed"] {
            for entry in std::fs::read_dir(self.root().join(dir)).into_iter().flatten().flatten() {
                let name = entry.file_name();
                // Skip temporary files.
                let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
                let subject = name.strip_suffix(".json").and_then(|_| self.subject_of(&entry.path()));
                files.push((entry.path(), subject));
            }
        }
        files.sort_by(|one, other| one.0.cmp(&other.0));
        files
    }

    /// The index files of one subject.
    pub fn index_files_of(&self, subject: &CaptureScope) -> Vec<(PathBuf, Option<CaptureScope>)> {
        let both = [false, true].map(|ended| self.index_path(subject, ended));
        let there = both.into_iter().filter(|path| path.symlink_metadata().is_ok());
        there.map(|path| (path, Some(subject.clone()))).collect()
    }
}

/// A directory's entries; empty if it does not exist.
fn list(dir: &Path) -> io::Result<Vec<std::fs::DirEntry>> {
    match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(fs::with_path(error, "list", dir)),
        Ok(listing) => listing.collect::<io::Result<_>>().map_err(|error| fs::with_path(error, "list", dir)),
    }
}
