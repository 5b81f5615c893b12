//! The archive's files, one by one, for those who look at all of it.

use std::io;
use std::path::{Path, PathBuf};

use super::object::Objects;
use super::state::journals;
use super::store::{Archive, Subject};
use crate::error::Result;
use crate::fs;

/// A content as it lies on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The hash that it is named by.
    pub hash: String,
    /// The file.
    pub path: PathBuf,
    /// Its size on disk.
    pub size: u64,
    /// Whether it is compressed.
    pub packed: bool,
}

impl Objects {
    /// Leads over every content. Files that are none of ours and what a killed writer left are passed over.
    ///
    /// # Errors
    /// When a directory cannot be listed, or what `each` fails with.
    pub fn each(&self, mut each: impl FnMut(Stored) -> io::Result<()>) -> io::Result<()> {
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
                // One that is gone by now was pruned.
                let Ok(metadata) = entry.metadata() else { continue };
                each(Stored { hash, path: entry.path(), size: metadata.len(), packed })?;
            }
        }
        Ok(())
    }

    /// The files that hold a content: none, one, or both of the plain and the compressed one.
    pub fn stored(&self, hash: &str) -> Vec<Stored> {
        let Some(plain) = self.path(hash) else { return Vec::new() };
        let both = [(plain.clone(), false), (plain.with_extension("gz"), true)];
        let there = both.into_iter().filter_map(|(path, packed)| {
            let size = path.symlink_metadata().ok()?.len();
            Some(Stored { hash: hash.to_owned(), path, size, packed })
        });
        there.collect()
    }

    /// Shows that a file holds the content that it is named by, in bounded memory.
    ///
    /// # Errors
    /// When it cannot be read, or says something else.
    pub fn check(&self, stored: &Stored) -> Result<()> {
        self.reading(stored)?.verify()
    }
}

impl Archive {
    /// The names of all runs' directories, as far as they can be listed.
    pub fn run_names(&self) -> Vec<String> {
        let listing = std::fs::read_dir(self.runs_dir()).into_iter().flatten().flatten();
        // A name that is no text is none of ours, and is told as damaged: it is not passed over.
        let mut names: Vec<String> =
            listing.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Where the runs are, for messages.
    pub fn runs_path(&self) -> PathBuf {
        self.runs_dir()
    }

    /// Why nobody can tell which runs there are; `None` when their directory can be listed, or nothing was ever kept.
    pub fn why_unlisted(&self) -> Option<String> {
        let dir = self.runs_dir();
        // A link that leads nowhere is no missing directory.
        if dir.symlink_metadata().is_ok() {
            return std::fs::read_dir(&dir)
                .and_then(|listing| listing.collect::<io::Result<Vec<_>>>())
                .err()
                .map(|error| fs::named(error, "list", &dir).to_string());
        }
        let others = ["objects", "open", "closed"].into_iter().find(|name| self.root().join(name).exists());
        others.map(|other| format!("{} is missing, and {other}/ is there", dir.display()))
    }

    /// The files of a run's journal.
    pub fn journal_files(&self, run: &str) -> Vec<PathBuf> {
        let Some(dir) = self.run_dir(run) else { return Vec::new() };
        let mut files: Vec<PathBuf> = journals(&dir).into_iter().map(|name| dir.join(name)).collect();
        files.sort();
        files
    }

    /// What was last captured of each team: the file, and what its name says; `None` for a name that is none of ours.
    pub fn index_files(&self) -> Vec<(PathBuf, Option<Subject>)> {
        let mut files = Vec::new();
        for dir in ["open", "closed"] {
            for entry in std::fs::read_dir(self.root().join(dir)).into_iter().flatten().flatten() {
                let name = entry.file_name();
                // What a writer has not renamed yet.
                let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
                files.push((entry.path(), name.strip_suffix(".json").and_then(Subject::from_key)));
            }
        }
        files.sort_by(|one, other| one.0.cmp(&other.0));
        files
    }

    /// The same of one subject.
    pub fn index_files_of(&self, subject: &Subject) -> Vec<(PathBuf, Option<Subject>)> {
        let both = [false, true].map(|ended| self.index_path(subject, ended));
        let there = both.into_iter().filter(|path| path.symlink_metadata().is_ok());
        there.map(|path| (path, Some(subject.clone()))).collect()
    }
}

/// A directory's entries; one that is not there has none.
fn list(dir: &Path) -> io::Result<Vec<std::fs::DirEntry>> {
    match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(fs::named(error, "list", dir)),
        Ok(listing) => listing.collect::<io::Result<_>>().map_err(|error| fs::named(error, "list", dir)),
    }
}
