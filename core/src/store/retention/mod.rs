//! Which segments of the log are removed. Before that, events of ended runs are closed into them: copied, compressed, into
//! the run's directory. So removing a segment loses nothing that a recorded run needs, and a run is removed as a whole.
//!
//! Segments with events of a run that has not ended are kept, whatever the log's limits are.

mod close;
mod plan;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::store::archive::Archive;
use crate::store::log::{Contents, ExclusiveLog, Parts, Segment};
use crate::sys::fs;

pub use close::close;
pub use plan::{Facts, Needs, Plan, Removal, RemovalReason, closed, plan};

/// The right to close events into runs and to delete segments: one process at a time.
#[derive(Debug)]
pub struct RetentionLock {
    log: PathBuf,
    _lock: fs::Lock,
}

impl RetentionLock {
    pub fn take(log: &Path, patience: Duration) -> io::Result<Option<RetentionLock>> {
        let lock = fs::lock(&log.join(".retention"), patience)?;
        Ok(lock.map(|lock| RetentionLock { log: log.to_owned(), _lock: lock }))
    }

    pub fn log(&self) -> &Path {
        &self.log
    }
}

#[derive(Debug, Default)]
pub struct Pruned {
    pub count: usize,
    pub bytes: u64,
    pub failures: Vec<Error>,
    /// Whether segments were left because a hook kept the log's lock for too long.
    pub is_busy: bool,
}

/// Deletes the planned segments, but not the current one, and none before all lines that a run needs are on the disk elsewhere.
pub fn apply(
    plan: &Plan,
    archive: &Archive,
    needs: &Needs<'_>,
    right: &RetentionLock,
    patience: Duration,
) -> Result<Pruned> {
    let (log, mut pruned) = (&right.log, Pruned::default());
    let mut closed: Vec<&Segment> = Vec::new();
    for Removal { segment, only, .. } in &plan.removals {
        let (done, why) = if only.is_empty() {
            let closing = close(log, &segment.name, archive, needs, None);
            (closing.map(|()| closed.push(segment)), ": its events cannot be copied into their runs")
        } else {
            let removing = close::remove_lines(log, segment, only, patience);
            (removing.map(|bytes| pruned.bytes += bytes), " unchanged")
        };
        // A missing one was deleted by hand.
        if let Err(error) = fs::allow_missing(done) {
            pruned.failures.push(Error::caused(format!("kept segment {}{why}", segment.name), error));
        }
    }
    if closed.is_empty() {
        return Ok(pruned);
    }
    let Some(exclusive) = ExclusiveLog::take(log, patience)? else {
        pruned.is_busy = true;
        return Ok(pruned);
    };
    let current = exclusive.current();
    for segment in closed.into_iter().filter(|segment| Some(&segment.name) != current.as_ref()) {
        let path = segment.path(log);
        // Closed when it was of this size: a segment that has grown since is not deleted.
        if path.symlink_metadata().is_ok_and(|there| there.len() != segment.size) {
            continue;
        }
        let removed = fs_err::remove_file(&path).map(|()| {
            pruned.count += 1;
            pruned.bytes += segment.size;
            Contents::remove(log, &segment.name);
        });
        pruned.failures.extend(fs::allow_missing(removed).err().map(Error::from));
    }
    Ok(pruned)
}

/// The parts of all runs: events that may no longer be in the log.
pub fn parts(archive: &Archive) -> Parts {
    Parts::of(archive.run_names().iter().filter_map(|run| archive.run_dir(run)))
}
