//! The lock of a subject, which protects its runs and its index; and the ends of runs. An end that cannot be written
//! immediately leaves a mark, so that another process's lock does not keep a run open indefinitely.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::directory::Archive;
use super::index::Index;
use super::run::{CaptureScope, EndedBy, RunRecord};
use teamkeep_model::json;
use teamkeep_model::time::Timestamp;
use teamkeep_system::fs::{self, JsonDocument, JsonFile, Lock, LockBudget};
use teamkeep_system::store_lock::StoreLock;

/// The beginnings of the names of marks.
const UNFINISHED: &str = "unfinished-";
const ENDING: &str = "ending-";

/// A subject that only this process may write.
#[derive(Debug)]
pub(super) struct LockedSubject<'a> {
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

    pub(super) fn lock_path(&self, subject: &CaptureScope) -> PathBuf {
        StoreLock::Team(&subject.stem()).path(&self.root)
    }

    /// Changes the description and the index of the subject's latest run in one step. The closure returns whether it
    /// changed anything.
    pub fn update_run(
        &self,
        subject: &CaptureScope,
        change: impl FnOnce(&mut Index, &mut RunRecord) -> bool,
    ) -> io::Result<bool> {
        let Some(locked) = self.lock(subject)? else {
            return Err(fs::held_error("the archive's"));
        };
        let Some(mut index) = self.index(subject) else { return Ok(false) };
        let mut run = self.run_to_change(&index.run)?.unwrap_or_else(|| self.rebuilt_run(subject, &index));
        // A call that was killed may have written only the description.
        let is_stale = index.ended != run.ended_at.is_some();
        if !change(&mut index, &mut run) && !is_stale {
            return Ok(false);
        }
        if run.ended_at.is_some() && !index.ended {
            self.mark_unfinished(&run.run)?;
        }
        index.ended = run.ended_at.is_some();
        locked.run_file(&run)?.write(&run)?;
        locked.save_index(&index)?;
        Ok(true)
    }

    /// Changes the description of a run that may not be its subject's latest, or whose index may be lost.
    fn update_any_run(
        &self,
        run: &RunRecord,
        change: impl FnOnce(&mut RunRecord) -> bool,
    ) -> io::Result<bool> {
        let Some(subject) = run.subject() else { return Ok(false) };
        if self.has_index(run) {
            return self.update_run(&subject, |_, known| known.run == run.run && change(known));
        }
        let Some(locked) = self.lock(&subject)? else {
            return Err(fs::held_error("the archive's"));
        };
        // A hook call may have written its index meanwhile.
        let known = self.run_to_change(&run.run)?.filter(|_| !self.has_index(run));
        let Some(mut known) = known else { return Ok(false) };
        if !change(&mut known) {
            return Ok(false);
        }
        if known.ended_at.is_some() && run.ended_at.is_none() {
            self.mark_unfinished(&known.run)?;
        }
        locked.run_file(&known)?.write(&known).map(|()| true)
    }

    /// Whether the index of the subject belongs to this run.
    fn has_index(&self, run: &RunRecord) -> bool {
        let index = run.subject().and_then(|subject| self.index(&subject));
        index.is_some_and(|index| index.run == run.run)
    }

    /// Closes the runs that no index names and that have ended: hook calls see the end of a run in its index, which is
    /// missing if the first call of the run was killed.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn close_runs_without_index(&self, is_over: impl Fn(&RunRecord) -> bool) -> io::Result<()> {
        let is_open = |run: &&RunRecord| run.ended_at.is_none() && run.imported.is_none();
        for run in self.runs().0.iter().filter(is_open).filter(|run| !self.has_index(run) && is_over(run)) {
            let last = self.journal(&run.run).snapshots.last().map(|last| last.at);
            let at = last.unwrap_or(run.started_at);
            self.update_any_run(run, |known| known == run && known.end(EndedBy::Disappeared, None, at))?;
        }
        Ok(())
    }

    /// Rebuilds the description of a run from its journal. Keeps the damaged file beside it.
    pub(super) fn rebuilt_run(&self, subject: &CaptureScope, index: &Index) -> RunRecord {
        if let Some(dir) = self.run_dir(&index.run) {
            let _ = std::fs::rename(dir.join("run.json"), dir.join("run.json.damaged"));
        }
        let mut record = self.described(subject, index, None, index.at);
        if let Some(first) = self.journal(&index.run).snapshots.first() {
            record.started_at = first.at;
        }
        record
    }

    /// The description of a run by its index: the known one updated, or a new one of a run that is seen now.
    pub(super) fn described(
        &self,
        subject: &CaptureScope,
        index: &Index,
        known: Option<RunRecord>,
        now: Timestamp,
    ) -> RunRecord {
        let (v, run, team) = (1, index.run.clone(), subject.team().map(ToString::to_string));
        let mut record = known.unwrap_or_else(|| RunRecord { v, run, team, ..RunRecord::default() });
        if !record.started_at.is_valid() {
            record.started_at = now;
        }
        record.metadata_only |= self.metadata_only;
        let session = || subject.team().is_none().then(|| subject.name().to_string());
        record.lead_session = index.lead_session.clone().or(record.lead_session).or_else(session);
        record.created_at = index.created(now).or(record.created_at);
        record.client_pid = index.lead_pid.or(record.client_pid);
        record.config_dir = index.config_dir.clone().or(record.config_dir);
        record.shares_name = matches!(subject, CaptureScope::TeamIn(..));
        record.called = index.called.clone().or(record.called);
        record
    }
}

impl LockedSubject<'_> {
    /// Writes the index, and removes it from the other directory. It can be rebuilt from the journal.
    pub(crate) fn save_index(&self, index: &Index) -> io::Result<()> {
        let (archive, subject) = (self.archive, self.subject);
        let bytes = match subject.name().is_stem() {
            true => serde_json::to_vec(index)?,
            false => serde_json::to_vec(&Index { key: Some(subject.key()), ..index.clone() })?,
        };
        let [open, closed] = archive.index_paths(subject);
        let (path, other) = if index.ended { (closed, open) } else { (open, closed) };
        let existed = fs::exchange(&path, &bytes)?;
        if existed && !index.ended { Ok(()) } else { fs::allow_missing(fs_err::remove_file(other)) }
    }

    /// The file with the description of a run of the subject.
    pub(crate) fn run_file(&self, run: &RunRecord) -> io::Result<JsonFile<RunRecord>> {
        Ok(self.archive.run_file(&run.run).ok_or(io::ErrorKind::InvalidInput)?)
    }
}

/// A pending end: `marks/ending-<run>-<by>`.
#[derive(Debug, Serialize, Deserialize)]
struct PendingEnd {
    v: u8,
    subject: String,
    run: String,
    by: EndedBy,
    reason: Option<String>,
    at: Timestamp,
}

impl JsonDocument for PendingEnd {}

impl Archive {
    /// Closes the subject's run. If its lock is not available, leaves a mark for [`Archive::close_pending_runs`]. Returns whether
    /// work remains to be done.
    ///
    /// # Errors
    /// When the mark cannot be written either.
    pub fn close_run(
        &self,
        subject: &CaptureScope,
        by: EndedBy,
        reason: Option<&str>,
        at: Timestamp,
    ) -> io::Result<bool> {
        let error = match self.update_run(subject, |_, run| run.end(by, reason, at)) {
            Err(error) => error,
            ended => return ended,
        };
        let Some(index) = self.index(subject) else { return Err(error) };
        let (run, subject, reason) = (index.run, subject.key(), reason.map(str::to_owned));
        let name = format!("{ENDING}{run}-{}", json::serde_name(&by));
        let ending = PendingEnd { v: 1, subject, run, by, reason, at };
        JsonFile::at(self.root.join("marks").join(name)).write(&ending).map(|()| true)
    }

    /// Whether an end is pending.
    pub fn has_endings(&self) -> bool {
        self.marks(ENDING).next().is_some()
    }

    /// Closes the runs whose end is pending, waiting at most `patience` for each lock. Returns whether any run was closed.
    pub fn close_pending_runs(&self, patience: Duration) -> bool {
        let mut archive = self.clone();
        archive.lock_budget = LockBudget::new(patience);
        let mut closed = false;
        for name in self.marks(ENDING) {
            let file = JsonFile::<PendingEnd>::at(self.root.join("marks").join(format!("{ENDING}{name}")));
            let Some(ending) = file.known() else { continue };
            let subject = CaptureScope::from_key(&ending.subject);
            let (Some(subject), at) = (subject, ending.at) else { continue };
            let ended = archive.update_run(&subject, |_, run| {
                run.run == ending.run && run.end(ending.by, ending.reason.as_deref(), at)
            });
            if let Ok(ended) = ended {
                closed |= ended;
                let _ = file.remove();
            }
        }
        closed
    }

    /// The mark of a run that has ended and whose transcripts are not archived yet.
    fn unfinished_mark(&self, run: &str) -> PathBuf {
        self.root.join("marks").join(format!("{UNFINISHED}{run}"))
    }

    /// Marks a run as ended with transcripts still to be archived.
    pub(super) fn mark_unfinished(&self, run: &str) -> io::Result<()> {
        let mark = self.unfinished_mark(run);
        if mark.exists() { Ok(()) } else { fs::write_atomic(&mark, b"") }
    }

    /// Whether a run has ended and its transcripts are not archived yet.
    pub fn is_unfinished(&self, run: &str) -> bool {
        self.unfinished_mark(run).exists()
    }

    /// The ended runs whose transcripts are not archived yet.
    pub fn unfinished(&self) -> Vec<RunRecord> {
        self.marks(UNFINISHED).filter_map(|run| self.run(&run)).collect()
    }

    /// Whether there is such a run.
    pub fn has_unfinished(&self) -> bool {
        self.marks(UNFINISHED).next().is_some()
    }

    /// The rest of the name of each mark with this beginning.
    fn marks(&self, begin: &'static str) -> impl Iterator<Item = String> {
        let marks = fs::entries(&self.root.join("marks"));
        marks.filter_map(move |mark| Some(mark.file_name().to_str()?.strip_prefix(begin)?.to_owned()))
    }

    /// Marks a run as completely archived, unless it ended or began again since it was read.
    pub fn mark_finished(&self, run: &RunRecord) -> io::Result<()> {
        let mut is_other = false;
        self.update_any_run(run, |known| {
            is_other = known.ended_at != run.ended_at;
            let is_same = known.ended_at.is_some() && !is_other;
            known.finished |= is_same;
            is_same
        })?;
        let mark = self.unfinished_mark(&run.run);
        if is_other { Ok(()) } else { fs::allow_missing(fs_err::remove_file(mark)) }
    }
}
