//! The lock of a subject: what writes its runs and its index.

use std::io;

use super::index::Index;
use super::run::RunRecord;
use super::store::{Archive, CaptureScope};
use crate::fs::{self, Lock};

/// A subject that only this process may write.
#[derive(Debug)]
pub struct LockedSubject<'a> {
    archive: &'a Archive,
    subject: &'a CaptureScope,
    _lock: Lock,
}

impl Archive {
    /// Takes the write lock of a subject; `None` if another process keeps it for too long.
    pub(super) fn lock<'a>(&'a self, subject: &'a CaptureScope) -> io::Result<Option<LockedSubject<'a>>> {
        let lock = self.lock_budget.lock(&self.lock_path(subject))?;
        Ok(lock.map(|lock| LockedSubject { archive: self, subject, _lock: lock }))
    }

    /// Whether no process can ever take this lock.
    pub(super) fn is_lock_obstructed(&self, subject: &CaptureScope) -> bool {
        fs::is_blocked_by_other_file(&self.lock_path(subject))
    }

    /// Changes the description and the index of the subject's latest run in one step. The closure returns whether it
    /// changed anything.
    ///
    /// # Errors
    /// When an I/O operation fails, or another process keeps the lock for too long.
    pub fn update_run(
        &self,
        subject: &CaptureScope,
        change: impl FnOnce(&mut Index, &mut RunRecord) -> bool,
    ) -> io::Result<bool> {
        match self.lock(subject)? {
            Some(locked) => locked.update_run(change),
            None => Err(fs::held_error(io::ErrorKind::TimedOut, "the archive's")),
        }
    }
}

impl LockedSubject<'_> {
    /// Writes the index, and removes it from the other directory. It can be rebuilt from the journal.
    pub fn save_index(&self, index: &Index) -> io::Result<()> {
        let (archive, subject) = (self.archive, self.subject);
        let bytes = match subject.name().is_stem() {
            true => serde_json::to_vec(index)?,
            false => serde_json::to_vec(&Index { key: Some(subject.key()), ..index.clone() })?,
        };
        let existed = fs::overwrite_in_place(&archive.index_path(subject, index.ended), bytes)?;
        if existed && !index.ended {
            return Ok(());
        }
        match std::fs::remove_file(archive.index_path(subject, !index.ended)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes the description of a run of the subject.
    pub fn save_run(&self, run: &RunRecord, durable: bool) -> io::Result<()> {
        let file = self.archive.run_file(&run.run).ok_or(io::ErrorKind::InvalidInput)?;
        if durable { file.write_synced(run) } else { file.write(run).map(drop) }
    }

    fn update_run(&self, change: impl FnOnce(&mut Index, &mut RunRecord) -> bool) -> io::Result<bool> {
        let (archive, subject) = (self.archive, self.subject);
        let Some(mut index) = archive.index(subject) else { return Ok(false) };
        let mut run = archive.run(&index.run).unwrap_or_else(|| archive.rebuilt_run(subject, &index));
        if !change(&mut index, &mut run) {
            return Ok(false);
        }
        if run.ended_at.is_some() && !index.ended {
            archive.mark_unfinished(&run.run)?;
        }
        index.ended = run.ended_at.is_some();
        self.save_run(&run, false)?;
        self.save_index(&index)?;
        Ok(true)
    }
}
