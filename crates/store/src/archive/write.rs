//! Writes what a capture found: the description of a new run, then contents, the manifest, and the index last.

use std::io;
use std::path::Path;

use super::capture_in_progress::{CaptureInProgress, CaptureRequest, Target};
use super::contents::ContentWriter;
use super::directory::Archive;
use super::index::CapturedFile;
use super::journal::{Change, Snapshot};
use super::journal_points::{JournalPoint, MAIN, point_after, single_journal};
use super::run::{CaptureScope, RunRecord};
use super::run_lock::LockedSubject;
use super::scan::Scan;
use crate::packed::thaw;
use teamkeep_model::Note;
use teamkeep_system::fs::{self, Appender};

impl Archive {
    /// Stores a file of the subject's run that is not below Claude Code's directory. Returns whether it is new or has
    /// changed: `is_same` compares its last content with this one.
    pub fn add_file(
        &self,
        subject: &CaptureScope,
        call: &CaptureRequest<'_>,
        (path, bytes): (String, &[u8]),
        is_same: impl Fn(&[u8]) -> bool,
    ) -> io::Result<bool> {
        let Some(lock) = self.lock(subject)? else { return Err(io::ErrorKind::TimedOut.into()) };
        let Some(index) = self.index(subject) else { return Ok(false) };
        let last = self.journal(&index.run).last().remove(&path).and_then(|state| state.object);
        if last.is_some_and(|last| self.content(&index.run, &last).is_ok_and(|last| is_same(&last))) {
            return Ok(false);
        }
        let (client, scan) = (Path::new(""), Scan::default());
        let target = Target { archive: self, subject, client, call, lock: Some(&lock) };
        let mut capture = CaptureInProgress::new(target, Some(index), &scan);
        capture.describe();
        let (object, _) = capture.put(&path, bytes)?;
        capture.add(Change { path, object: Some(object), size: bytes.len() as u64, ..Change::default() });
        let snapshot = capture.snapshot();
        capture.write(snapshot.as_ref())?;
        Ok(true)
    }
}

impl CaptureInProgress<'_> {
    /// Stores a content. Returns its hash and its place in the run's contents, if it has one.
    pub(super) fn put(&mut self, path: &str, bytes: &[u8]) -> io::Result<(String, Option<u64>)> {
        let seen = self.index.files.get(path);
        let former = self.former_place(path, seen);
        // Without an index, the content can be found by its hash.
        let hash = if former.is_none() { self.recorded_object(path, seen).map(str::to_owned) } else { None };
        let contents = self.contents()?;
        let former = former.or_else(|| contents.place_of(&hash?));
        contents.put(bytes, former)
    }

    pub(super) fn contents(&mut self) -> io::Result<&mut ContentWriter> {
        let Target { archive, call, lock, .. } = self.target;
        let dir = archive.run_dir(&self.index.run).ok_or(io::ErrorKind::InvalidInput)?;
        let new = || ContentWriter::new(&dir, call.event.as_str(), lock.is_some());
        Ok(self.contents.get_or_insert_with(new))
    }

    /// The place of a content that is probably similar: the last one of the file, which was `before`. A temporary file that
    /// will be renamed is similar to the file that it replaces.
    pub(crate) fn former_place(&self, path: &str, before: Option<&CapturedFile>) -> Option<u64> {
        before.and_then(|seen| seen.place).or_else(|| {
            let (stem, _) = path.split_once(".json.")?;
            self.index.files.get(&format!("{stem}.json"))?.place
        })
    }

    /// Writes the result: the contents, then the manifest that names them, and the index last.
    pub(super) fn write(&mut self, snapshot: Option<&Snapshot>) -> io::Result<()> {
        let Target { archive, call, lock, .. } = self.target;
        let dir = archive.run_dir(&self.index.run).ok_or(io::ErrorKind::InvalidInput)?;
        if call.durable {
            self.contents()?.sync()?;
        } else if let Some(contents) = &mut self.contents {
            contents.flush()?;
        }
        if let Some(snapshot) = snapshot {
            self.append(snapshot, &dir)?;
        }
        if call.durable {
            fs::sync_files(&dir, |name| name.starts_with("snapshots"))?;
            fs::sync(&dir)?;
        }
        if let Some(error) = self.undescribed.take() {
            // Without a new index, the next call writes the descriptions again.
            return Err(error);
        }
        if let Some(lock) = lock.filter(|_| snapshot.is_some() || self.index_changed) {
            self.index.journal = Some(archive.journal_length(&self.index.run));
            // The index can be rebuilt from the journal, so this loses nothing.
            if let Err(error) = lock.save_index(&self.index) {
                self.notes.push(Note::problem(format!("cannot write the index: {error}")));
            }
        }
        Ok(())
    }

    /// Writes the descriptions of the run, and of the one that it replaces. They come before the contents, so that a call
    /// that is killed leaves no contents of an unknown run. [`CaptureInProgress::write`] returns a failure.
    pub(super) fn describe(&mut self) {
        self.undescribed = self.target.lock.and_then(|lock| self.write_records(lock).err());
    }

    fn write_records(&self, lock: &LockedSubject<'_>) -> io::Result<()> {
        let Target { archive, subject, call, .. } = self.target;
        let dir = archive.run_dir(&self.index.run).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(old) = &self.replaced
            && let Some(mut record) = archive.run_to_change(&old.run)?
            && record.end(old.by, None, call.at)
        {
            archive.mark_unfinished(&old.run)?;
            lock.run_file(&record)?.write(&record)?;
        }
        // Metadata-only mode may have been turned on since the run began.
        let known = archive.run_to_change(&self.index.run)?;
        let is_stale = known.as_ref().is_none_or(|run| archive.metadata_only && !run.metadata_only);
        if self.run_changed || is_stale {
            let rebuilt = || dir.exists().then(|| archive.rebuilt_run(subject, &self.index));
            let record = self.record(known.or_else(rebuilt));
            match call.durable {
                true => lock.run_file(&record)?.write_synced(&record)?,
                false => lock.run_file(&record)?.write(&record)?,
            }
        }
        Ok(())
    }

    /// The run's description, new or updated.
    fn record(&self, known: Option<RunRecord>) -> RunRecord {
        let Target { archive, subject, call, .. } = self.target;
        let (v, run, team) = (1, self.index.run.clone(), subject.team().map(ToString::to_string));
        let mut record = known.unwrap_or_else(|| RunRecord { v, run, team, ..RunRecord::default() });
        if !record.started_at.is_valid() {
            record.started_at = call.at;
        }
        record.metadata_only |= archive.metadata_only;
        record.continues = record.continues.or_else(|| self.continues.clone());
        let session = || subject.team().is_none().then(|| subject.name().to_string());
        record.lead_session = self.index.lead_session.clone().or(record.lead_session).or_else(session);
        record.created_at = self.index.created(call.at).or(record.created_at);
        record.client_pid = self.index.lead_pid.or(record.client_pid);
        record.config_dir = self.index.config_dir.clone().or(record.config_dir);
        record.shares_name = matches!(subject, CaptureScope::TeamIn(..));
        record.called = self.index.called.clone().or(record.called);
        record
    }

    fn append(&mut self, snapshot: &Snapshot, dir: &Path) -> io::Result<()> {
        let Target { call, lock, .. } = self.target;
        let main = dir.join(MAIN);
        let is_usable = || match main.symlink_metadata() {
            Ok(found) => found.is_file(),
            Err(_) => thaw(&main).is_ok(),
        };
        let name = match lock {
            Some(_) if is_usable() => MAIN.to_owned(),
            _ => single_journal(call.event.as_str()),
        };
        let path = dir.join(&name);
        let mut journal = Appender::open(&path)?;
        let (is_torn, line) = (journal.is_torn()?, snapshot.line());
        let offset = journal.append_line(&line)?;
        self.note_point(&path, (offset, &line));
        if call.durable {
            journal.sync()?;
        }
        if is_torn {
            let run = &self.index.run;
            self.notes.push(Note::problem(format!(
                "the last line of {name} of run {run} was incomplete: its writer was probably killed"
            )));
        }
        Ok(())
    }

    /// Notes the state of the journal for the event of this call.
    fn note_point(&mut self, path: &Path, line: (u64, &[u8])) {
        let is_main = path.ends_with(MAIN);
        let before = self.index.journal_point.filter(|_| is_main).unwrap_or_default();
        let point = point_after(path, before, line);
        if is_main {
            self.index.journal_point = point.as_ref().ok().copied();
        }
        match point {
            Ok(point) => {
                self.target.archive.journal_points.note(&self.index.run, JournalPoint { is_main, point });
            }
            Err(error) => self
                .notes
                .push(Note::problem(format!("the event does not cover {}: {error}", path.display()))),
        }
    }
}
