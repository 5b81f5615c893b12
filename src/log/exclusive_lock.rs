//! The lock that allows deleting.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::writer::LOCK;
use super::{SegmentName, current_name, segments};
use crate::error::Result;
use crate::fs;

/// The log's lock: no other process appends or prunes while this exists. Only [`Exclusive::take`] creates it.
#[derive(Debug)]
pub struct ExclusiveLog {
    dir: PathBuf,
    lock: fs::Lock,
}

impl ExclusiveLog {
    /// Takes the lock of the log in this directory; `None` if it is not free within `patience`.
    ///
    /// # Errors
    /// Locking is not possible there.
    pub fn take(dir: &Path, patience: Duration) -> Result<Option<ExclusiveLog>> {
        let lock = fs::lock(&dir.join(LOCK), patience)?;
        Ok(lock.map(|lock| ExclusiveLog { dir: dir.to_owned(), lock }))
    }

    /// The open segment.
    pub fn current(&self) -> Option<SegmentName> {
        current_name::read(&self.lock.file).or_else(|| segments::newest(&self.dir).unwrap_or_default())
    }

    /// The log's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// The open segment, read without the lock.
pub fn active_segment(dir: &Path) -> Option<SegmentName> {
    let named = fs::open_regular(&dir.join(LOCK)).ok().and_then(|lock| current_name::read(&lock));
    named.or_else(|| segments::newest(dir).unwrap_or_default())
}
