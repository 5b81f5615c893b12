//! Bringing in and removing whole runs. Hook calls know nothing of it: what is brought in is seen when all of it is
//! there, and what is removed is gone at once.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::store::Archive;
use crate::error::{Error, Result};
use crate::fs::{self, Lock};

/// The right to bring in and to remove whole runs: one process at a time.
#[derive(Debug)]
pub struct Maintenance {
    archive: Archive,
    _lock: Lock,
}

impl Archive {
    /// Takes that right.
    ///
    /// # Errors
    /// When another process keeps it for too long, or locking is not possible there.
    pub fn maintain(&self, patience: Duration) -> Result<Maintenance> {
        match fs::lock(&self.root().join("locks").join(".maintenance"), patience)? {
            Some(lock) => Ok(Maintenance { archive: self.clone(), _lock: lock }),
            None => Err(Error::new("cannot change the archive: another import or prune is at work")
                .hint("try again when it is done")),
        }
    }
}

impl Maintenance {
    /// The archive.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// An empty directory for what is not to be seen yet. What a killed import left there is removed.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn staging(&self) -> io::Result<Staging> {
        let dir = self.archive.root().join("importing");
        remove(&dir)?;
        fs::private_dir(&dir)?;
        Ok(Staging { dir })
    }

    /// Takes a staged content over, compressed where that is asked for, unless it is there already and whole. Says
    /// whether it was taken.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn adopt(&self, staged: &Path, hash: &str, packed: bool) -> io::Result<bool> {
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
            fs::sync_file(&pressed)?;
            rename(&pressed, &plain.with_extension("gz"))?;
            // The plain one would be read first.
            for damaged in there.iter().filter(|stored| !stored.packed) {
                std::fs::remove_file(&damaged.path)?;
            }
        } else {
            fs::sync_file(staged)?;
            rename(staged, &plain)?;
        }
        Ok(true)
    }

    /// Shows a staged run: from here on it is on record.
    ///
    /// # Errors
    /// When the disk refuses, or there is a run of that id.
    pub fn admit(&self, staged: &Path, run: &str) -> io::Result<()> {
        let dir = self.archive.run_dir(run).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(runs) = dir.parent() {
            fs::private_dir(runs)?;
        }
        for entry in std::fs::read_dir(staged)?.flatten() {
            fs::sync_file(&entry.path())?;
        }
        self.archive.objects.sync_names()?;
        rename(staged, &dir)?;
        dir.parent().map_or(Ok(()), fs::sync_dir)
    }
}

/// What is not to be seen yet. It goes when this does.
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
    let file = fs::open_private(std::fs::OpenOptions::new().write(true).create_new(true), to)?;
    let mut gzip = flate2::write::GzEncoder::new(io::BufWriter::new(file), flate2::Compression::default());
    io::copy(&mut from, &mut gzip)?;
    gzip.finish()?.flush()
}

/// Removes a directory; one that is not there is removed.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fs::named(error, "remove", dir)),
        _ => Ok(()),
    }
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to).map_err(|error| fs::named(error, "rename to", to))
}
