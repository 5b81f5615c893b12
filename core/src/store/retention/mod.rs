//! Which segments of the log are removed. Before that, events of ended runs are closed into them: copied, compressed, into
//! the run's directory. So removing a segment loses nothing that a recorded run needs, and a run is removed as a whole.
//!
//! Segments with events of a run that has not ended are kept, whatever the log's limits are. Removals are recorded in the log's
//! chain before they are made.

mod close;
mod plan;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::store::archive::Archive;
use crate::store::log::{
    self, Contents, ExclusiveLog, LinkedLines, LogChange, Parts, RemovedLines, Segment, changes_path,
};
use crate::sys::clock::Timestamp;
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

/// When the changes are made, and how long to wait for the log's lock.
#[derive(Debug, Clone, Copy)]
pub struct Recording {
    pub at: Timestamp,
    pub patience: Duration,
}

impl Recording {
    /// `None` if a hook keeps the log's lock for too long.
    fn take(&self, log: &Path) -> io::Result<Option<ExclusiveLog>> {
        ExclusiveLog::take(log, self.patience).map_err(io::Error::other)
    }

    /// Records removals. Returns the lock again, which is free meanwhile: syncing can take longer than hooks wait.
    fn record_removed(
        &self,
        exclusive: ExclusiveLog,
        removed: Vec<RemovedLines>,
    ) -> io::Result<Option<ExclusiveLog>> {
        let log = exclusive.dir().to_owned();
        let has_chain =
            |removed: &RemovedLines| !removed.lines.is_empty() || removed.single || !removed.parts.is_empty();
        let removed: Vec<RemovedLines> = removed.into_iter().filter(has_chain).collect();
        if removed.is_empty() {
            return Ok(Some(exclusive));
        }
        exclusive.record(&LogChange { removed, ..LogChange::new(self.at) })?;
        drop(exclusive);
        fs::sync(&changes_path(&log))?;
        fs::sync(&log)?;
        self.take(&log)
    }

    /// Records a change of which nothing else depends on the lock. Returns false if the lock was not free.
    fn record(&self, log: &Path, change: &LogChange) -> io::Result<bool> {
        if change.is_empty() {
            return Ok(true);
        }
        let Some(exclusive) = self.take(log)? else { return Ok(false) };
        exclusive.record(change)?;
        drop(exclusive);
        fs::sync(&changes_path(log))?;
        Ok(true)
    }

    /// Records that these runs will be removed. Returns false if the lock was not free.
    pub fn record_pruned_runs(&self, log: &Path, pruned_runs: Vec<String>) -> io::Result<bool> {
        self.record(log, &LogChange { pruned_runs, ..LogChange::new(self.at) })
    }

    /// Adds the lines that were written without the lock to the chain. If the lock is not free, the next call does.
    pub fn adopt_single_lines(&self, log: &Path) -> io::Result<()> {
        let change = LogChange::adopting(log, &log::list(log)?, self.at)?;
        self.record(log, &change).map(drop)
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
/// Removals are recorded in the log's chain before.
pub fn apply(
    plan: &Plan,
    archive: &Archive,
    needs: &Needs<'_>,
    right: &RetentionLock,
    recording: &Recording,
) -> Result<Pruned> {
    let (log, mut pruned) = (&right.log, Pruned::default());
    let mut closed: Vec<(&Segment, RemovedLines)> = Vec::new();
    for Removal { segment, only, .. } in &plan.removals {
        let (done, why) = if only.is_empty() {
            let closing = close_whole(log, segment, archive, needs);
            (
                closing.map(|lines| closed.push((segment, lines))),
                ": its events cannot be copied into their runs",
            )
        } else {
            let removing = close::remove_lines(log, segment, only, recording);
            (removing.map(|bytes| pruned.bytes += bytes), " unchanged")
        };
        // A missing one was deleted by hand.
        if let Err(error) = fs::allow_missing(done) {
            pruned.failures.push(Error::caused(format!("kept segment {}{why}", segment.name), error));
        }
    }
    if !closed.is_empty() {
        delete(log, closed, recording, &mut pruned)?;
    }
    Ok(pruned)
}

/// Copies the lines of a segment into their runs. Returns the lines that are removed with it.
fn close_whole(
    log: &Path,
    segment: &Segment,
    archive: &Archive,
    needs: &Needs<'_>,
) -> io::Result<RemovedLines> {
    let parts = close(log, &segment.name, archive, needs, None)?;
    let lines = LinkedLines::of_file(&segment.path(log))?;
    let single = segment.name.is_single_line();
    Ok(RemovedLines { segment: segment.name.to_string(), whole: true, single, lines, parts })
}

/// Deletes segments whose lines are closed into their runs.
fn delete(
    log: &Path,
    mut closed: Vec<(&Segment, RemovedLines)>,
    recording: &Recording,
    pruned: &mut Pruned,
) -> Result<()> {
    let is_removable = |exclusive: &ExclusiveLog, segment: &Segment| {
        // Closed when it was of this size: a segment that has grown since is not deleted.
        exclusive.current().as_ref() != Some(&segment.name)
            && segment.path(log).symlink_metadata().is_ok_and(|there| there.len() == segment.size)
    };
    let Some(exclusive) = recording.take(log)? else {
        pruned.is_busy = true;
        return Ok(());
    };
    closed.retain(|(segment, _)| is_removable(&exclusive, segment));
    let (segments, removed): (Vec<&Segment>, Vec<RemovedLines>) = closed.into_iter().unzip();
    let exclusive = match recording.record_removed(exclusive, removed) {
        Ok(Some(exclusive)) => exclusive,
        Ok(None) => {
            pruned.is_busy = true;
            return Ok(());
        }
        Err(error) => {
            let what = format!("kept {} segments: their removal cannot be recorded", segments.len());
            pruned.failures.push(Error::caused(what, error));
            return Ok(());
        }
    };
    for segment in segments.into_iter().filter(|segment| is_removable(&exclusive, segment)) {
        let removed = fs_err::remove_file(segment.path(log)).map(|()| {
            pruned.count += 1;
            pruned.bytes += segment.size;
            Contents::remove(log, &segment.name);
        });
        pruned.failures.extend(fs::allow_missing(removed).err().map(Error::from));
    }
    Ok(())
}

/// The parts of all runs: events that may no longer be in the log.
pub fn parts(archive: &Archive) -> Parts {
    Parts::of(archive.run_names().iter().filter_map(|run| archive.run_dir(run)))
}
