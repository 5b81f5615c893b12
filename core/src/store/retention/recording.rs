//! Records removals in the log's chain, before they are made.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::store::log::{self, ExclusiveLog, LogChange, RemovedLines, changes_path};
use crate::sys::clock::Timestamp;
use crate::sys::fs;

/// When the changes are made, and how long to wait for the log's lock.
#[derive(Debug, Clone, Copy)]
pub struct Recording {
    pub at: Timestamp,
    pub patience: Duration,
}

impl Recording {
    /// `None` if a hook keeps the log's lock for too long.
    pub(super) fn take(&self, log: &Path) -> io::Result<Option<ExclusiveLog>> {
        ExclusiveLog::take(log, self.patience).map_err(io::Error::other)
    }

    /// Records removals. Returns the lock again, which is free meanwhile: syncing can take longer than hooks wait.
    pub(super) fn record_removed(
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
