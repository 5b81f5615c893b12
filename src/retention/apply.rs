//! Executes a plan: the events of a segment are closed into their runs, and only then the segment is deleted.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::close::close;
use super::needs::Needs;
use super::plan::{Plan, Removal};
use super::thin::thin;
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::fs;
use crate::log::{Contents, ExclusiveLog, Segment};

/// The right to close events into runs and to delete segments: one process at a time.
#[derive(Debug)]
pub struct RetentionLock {
    log: PathBuf,
    _lock: fs::Lock,
}

impl RetentionLock {
    /// Takes it; `None` when another process holds it for longer than `patience`.
    ///
    /// # Errors
    /// When locking is not possible there.
    pub fn take(log: &Path, patience: Duration) -> io::Result<Option<RetentionLock>> {
        let lock = fs::lock(&log.join(".retention"), patience)?;
        Ok(lock.map(|lock| RetentionLock { log: log.to_owned(), _lock: lock }))
    }

    /// The log's directory.
    pub fn log(&self) -> &Path {
        &self.log
    }
}

/// The deleted items.
#[derive(Debug, Default)]
pub struct Pruned {
    /// How many segments.
    pub count: usize,
    /// How many bytes.
    pub bytes: u64,
    /// Segments that could not be deleted.
    pub failures: Vec<Error>,
    /// Whether segments were left because a hook kept the log's lock for too long.
    pub is_busy: bool,
}

/// Deletes the planned segments, but never one that is being written to, and none before all lines that a run needs are on
/// the disk elsewhere. A segment that cannot be closed is kept.
///
/// # Errors
/// When the log cannot be locked at all.
pub fn apply(
    plan: &Plan,
    archive: &Archive,
    needs: &Needs<'_>,
    right: &RetentionLock,
    patience: Duration,
) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    let mut closed: Vec<&Segment> = Vec::new();
    let (whole, thinned): (Vec<&Removal>, Vec<&Removal>) =
        plan.removals.iter().partition(|removal| removal.only.is_empty());
    for Removal { segment, only, .. } in thinned {
        match thin(&right.log, segment, only, patience) {
            Ok(bytes) => pruned.bytes += bytes,
            Err(error) => {
                let what = format!("kept segment {} unchanged", segment.name);
                pruned.failures.push(Error::caused(what, error));
            }
        }
    }
    for segment in whole.into_iter().map(|removal| &removal.segment) {
        match close(&right.log, &segment.name, archive, needs, None) {
            Ok(()) => closed.push(segment),
            // Deleted by hand.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let what =
                    format!("kept segment {}: its events cannot be copied into their runs", segment.name);
                pruned.failures.push(Error::caused(what, error));
            }
        }
    }
    if closed.is_empty() {
        return Ok(pruned);
    }
    let Some(exclusive) = ExclusiveLog::take(&right.log, patience)? else {
        pruned.is_busy = true;
        return Ok(pruned);
    };
    let current = exclusive.current();
    for segment in closed.into_iter().filter(|segment| Some(&segment.name) != current.as_ref()) {
        let path = segment.path(exclusive.dir());
        // Closed when it was of this size: a segment that has grown since is not deleted.
        if path.symlink_metadata().is_ok_and(|there| there.len() != segment.size) {
            continue;
        }
        match std::fs::remove_file(&path) {
            Ok(()) => {
                pruned.count += 1;
                pruned.bytes += segment.size;
                Contents::remove(exclusive.dir(), &segment.name);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => pruned.failures.push(fs::with_path(error, "delete", &path).into()),
        }
    }
    Ok(pruned)
}
