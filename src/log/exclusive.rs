//! The right to delete.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::writer::LOCK;
use super::{Name, current, segments};
use crate::error::Result;
use crate::fs;

/// The log's lock, held: nobody else appends or prunes while this lives. Nothing but [`Exclusive::take`] makes one.
#[derive(Debug)]
pub struct Exclusive {
    dir: PathBuf,
    lock: fs::Lock,
}

impl Exclusive {
    /// Takes the lock of the log in this directory; `None` when it is not free within `patience`.
    ///
    /// # Errors
    /// When locking is not possible there.
    pub fn take(dir: &Path, patience: Duration) -> Result<Option<Exclusive>> {
        let lock = fs::lock(&dir.join(LOCK), patience)?;
        Ok(lock.map(|lock| Exclusive { dir: dir.to_owned(), lock }))
    }

    /// The segment that is written to.
    pub fn current(&self) -> Option<Name> {
        current::read(&self.lock.file).or_else(|| segments::newest(&self.dir).unwrap_or_default())
    }

    /// The log's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// The segment that is written to, as far as can be told without the lock.
pub fn written_to(dir: &Path) -> Option<Name> {
    let named = fs::open_regular(&dir.join(LOCK)).ok().and_then(|lock| current::read(&lock));
    named.or_else(|| segments::newest(dir).unwrap_or_default())
}
