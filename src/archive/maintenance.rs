//! Adds and removes whole runs. Both are atomic for hook calls, which do not take part: an added run appears when it is
//! complete, a removed one disappears at once.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::store::Archive;
use crate::error::{Error, Result};
use crate::fs::{self, Lock};

/// The lock for adding and removing runs: one process at a time.
#[derive(Debug)]
pub struct ExclusiveArchive {
    archive: Archive,
    _lock: Lock,
}

impl Archive {
    /// Takes the lock.
    ///
    /// # Errors
    /// When another process keeps it for too long, or the file system does not support locks.
    pub fn maintain(&self, patience: Duration) -> Result<ExclusiveArchive> {
        match fs::lock(&self.root().join("locks").join(".maintenance"), patience)? {
            Some(lock) => Ok(ExclusiveArchive { archive: self.clone(), _lock: lock }),
            None => Err(Error::new("cannot change the archive: another import or prune is running")
                .hint("try again when it has finished")),
        }
    }
}

impl ExclusiveArchive {
    /// The archive.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Creates an empty staging directory, and removes the one of a killed import.
    ///
    /// # Errors
    /// When an I/O operation fails.
    pub fn staging(&self) -> io::Result<Staging> {
        let dir = self.archive.root().join("importing");
        remove(&dir)?;
        fs::private_dir(&dir)?;
        Ok(Staging { dir })
    }

    /// Moves a staged object into the archive, compressed if requested, unless an intact one already exists. Returns
    /// whether it was moved.
    ///
    /// # Errors
    /// When an I/O operation fails.
    pub fn import_object(&self, staged: &Path, hash: &str, packed: bool) -> io::Result<bool> {
        let objects = &self.archive.objects;
        let there = objects.stored(hash);
        if there.first().is_some_and(|stored| objects.check(stored).is_ok()) {
            return Ok(false);
        }
        let plain = objects.path(hash).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(dir) = plain.parent() {
            fs::private_dir(dir)?;
        }
        if packed {
            let pressed = staged.with_extension("gz");
            pack(staged, &pressed)?;
            fs::sync(&pressed)?;
            rename(&pressed, &plain.with_extension("gz"))?;
            // The uncompressed file would be read first.
            for damaged in there.iter().filter(|stored| !stored.packed) {
                std::fs::remove_file(&damaged.path)?;
            }
        } else {
            fs::sync(staged)?;
            rename(staged, &plain)?;
        }
        Ok(true)
    }

    /// Makes a staged run visible.
    ///
    /// # Errors
    /// When an I/O operation fails, or the run already exists.
    pub fn publish_run(&self, staged: &Path, run: &str) -> io::Result<()> {
        let dir = self.archive.run_dir(run).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(runs) = dir.parent() {
            fs::private_dir(runs)?;
        }
        for entry in std::fs::read_dir(staged)?.flatten() {
            fs::sync(&entry.path())?;
        }
        self.archive.objects.sync_names()?;
        rename(staged, &dir)?;
        dir.parent().map_or(Ok(()), fs::sync)
    }
}

/// A staging directory, removed on drop.
#[derive(Debug)]
pub struct Staging {
    dir: PathBuf,
}

impl Staging {
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = remove(&self.dir);
    }
}

fn pack(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = fs::open_regular(from)?;
    let file = fs::create_private(to)?;
    let mut gzip = flate2::write::GzEncoder::new(io::BufWriter::new(file), flate2::Compression::default());
    io::copy(&mut from, &mut gzip)?;
    gzip.finish()?.flush()
}

/// Removes a directory if it exists.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fs::with_path(error, "remove", dir)),
        _ => Ok(()),
    }
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to).map_err(|error| fs::with_path(error, "rename to", to))
}
