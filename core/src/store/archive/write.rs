//! Writes what a capture found: the description of a new run, then contents (as an object, as a delta of a large content, or
//! together with many others), the manifest, and the index last.

use std::io;
use std::path::Path;

use super::directory::Archive;
use super::index::CapturedFile;
use super::journal::{Change, Snapshot};
use super::journal_points::{JournalPoint, MAIN, point_after, single_journal};
use super::object::{self, Durability};
use super::pack::{NewContent, Pack, SMALL, StoredContents, thaw};
use super::run::{CaptureScope, RunRecord};
use super::run_lock::LockedSubject;
use super::scan::{Scan, ScannedEntry};
use super::session::{CaptureRequest, CaptureSession, Target};
use crate::model::Note;
use crate::sys::fs::{self, Appender};

/// If a capture stores more files than this, their contents share a data file: on a busy machine, creating 5,000 files
/// took longer than the 6 s that are available before a TeamDelete.
const BULK_FROM: usize = 256;

/// Up to this size, in bytes, a changed content is stored completely if the content before it cannot be synced with the
/// others.
const MAX_WHOLE: usize = 64 << 10;

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
        if last.is_some_and(|last| self.objects.get(&last).is_ok_and(|last| is_same(&last))) {
            return Ok(false);
        }
        let (client, scan) = (Path::new(""), Scan::default());
        let target = Target { archive: self, subject, client, call, lock: Some(&lock) };
        let mut session = CaptureSession::new(target, Some(index), &scan);
        session.describe();
        let object = session.put_object(bytes, Durability::Usual)?;
        session.add(Change { path, object: Some(object), size: bytes.len() as u64, ..Change::default() });
        let snapshot = session.snapshot();
        session.write(snapshot.as_ref())?;
        Ok(true)
    }
}

impl CaptureSession<'_> {
    /// Whether there are so many files to store that their contents share a data file.
    pub fn has_many_new(&self) -> bool {
        let is_stored = |path: &String, found: &ScannedEntry| {
            let seen = self.index.files.get(path).filter(|seen| seen.matches(found.stamp()));
            seen.is_some_and(|seen| seen.synced || !self.target.call.durable)
        };
        self.target.lock.is_some()
            && self.scan.found.iter().filter(|(path, found)| !is_stored(path, found)).count() > BULK_FROM
    }

    /// Stores a content and returns its hash and the offset of its recipe, unless it is an object.
    pub fn put(
        &mut self,
        path: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<(String, Option<u64>)> {
        let dir = self.target.archive.run_dir(&self.index.run);
        let Some(dir) = dir.filter(|_| self.target.lock.is_some()) else {
            return Ok((self.put_object(bytes, durability)?, None));
        };
        let hash = object::hash(bytes);
        let former = self.former_recipe(path, self.index.files.get(path));
        let new = NewContent { bytes, hash: &hash, former, durability };
        let recipe = match self.is_bulk {
            true => self.put_with_others(&dir, &new),
            false => self.put_alone(&dir, path, &new),
        };
        match recipe {
            Ok(Some(recipe)) => Ok((hash, Some(recipe))),
            Ok(None) => Ok((self.put_object(bytes, durability)?, None)),
            Err(error) => {
                let object = self.put_object(bytes, durability)?;
                let text = format!("{path} is stored completely, not as a delta: {error}");
                self.notes.push(Note::problem(text));
                Ok((object, None))
            }
        }
    }

    /// Returns the offset of the recipe; `None` if the content should be an object.
    fn put_alone(&mut self, dir: &Path, path: &str, new: &NewContent<'_>) -> io::Result<Option<u64>> {
        let NewContent { bytes, hash, former, durability } = *new;
        if bytes.len() >= SMALL {
            if former.is_none() && self.target.archive.objects.has(hash, bytes.len()) {
                return Ok(None);
            }
            return self.pack(dir).put(new).map(Some);
        }
        // A small content has a recipe if it was stored together with others.
        let is_recorded = self.recorded_object(path, self.index.files.get(path)) == Some(hash);
        let Some(recipe) = former.filter(|_| is_recorded) else { return Ok(None) };
        let there = self.stored(dir).get(recipe).ok().filter(|there| there.contents_equal(bytes, hash));
        if let Some(there) = there.as_ref().filter(|_| durability == Durability::Durable) {
            self.pack(dir).sync_data(there.file())?;
        }
        Ok(there.map(|_| recipe))
    }

    /// Does the same for a content that is stored together with others.
    fn put_with_others(&mut self, dir: &Path, new: &NewContent<'_>) -> io::Result<Option<u64>> {
        let NewContent { bytes, hash, former, durability } = *new;
        let there = former.and_then(|recipe| Some((recipe, self.stored(dir).get(recipe).ok()?)));
        let is_durable = durability == Durability::Durable;
        if let Some((recipe, there)) = there {
            let is_synced = is_durable && self.pack(dir).will_sync(there.file());
            if there.contents_equal(bytes, hash) && (is_synced || !is_durable) {
                return Ok(Some(recipe));
            }
            if bytes.len() >= SMALL && (is_synced || !is_durable || bytes.len() > MAX_WHOLE) {
                let durability = if is_synced { Durability::Usual } else { durability };
                return self.pack(dir).put(&NewContent { durability, ..*new }).map(Some);
            }
        } else if !is_durable && self.target.archive.objects.has(hash, bytes.len()) {
            return Ok(None);
        }
        self.pack(dir).put_complete(bytes, hash).map(Some)
    }

    fn put_object(&mut self, bytes: &[u8], durability: Durability) -> io::Result<String> {
        self.has_unsynced_names |= durability == Durability::Durable;
        self.target.archive.objects.put(bytes, durability)
    }

    /// The offset of the recipe of a content that is probably similar: the last one of the file, which was `before`. A
    /// temporary file that will be renamed is similar to the file that it replaces.
    pub fn former_recipe(&self, path: &str, before: Option<&CapturedFile>) -> Option<u64> {
        before.and_then(|seen| seen.recipe).or_else(|| {
            let (stem, _) = path.split_once(".json.")?;
            self.index.files.get(&format!("{stem}.json"))?.recipe
        })
    }

    fn stored(&mut self, dir: &Path) -> &mut StoredContents {
        self.stored.get_or_insert_with(|| StoredContents::new(dir.to_owned()))
    }

    fn pack(&mut self, dir: &Path) -> &mut Pack {
        self.pack.get_or_insert_with(|| Pack::new(dir.to_owned()))
    }

    /// Syncs the contents that are not synced yet to the disk.
    fn sync_contents(&mut self, dir: &Path) -> io::Result<()> {
        if self.has_unsynced_names {
            self.target.archive.objects.sync_names()?;
        }
        self.pack(dir).sync()
    }

    /// Writes the result: the description and the objects already exist, so the manifest comes next and the index last.
    pub fn write(&mut self, snapshot: Option<&Snapshot>) -> io::Result<()> {
        let Target { archive, call, lock, .. } = self.target;
        let dir = archive.run_dir(&self.index.run).ok_or(io::ErrorKind::InvalidInput)?;
        // Sync the contents before writing the manifest that names them.
        if call.durable {
            self.sync_contents(&dir)?;
        }
        if let Some(snapshot) = snapshot {
            self.append(snapshot, &dir)?;
        }
        if call.durable {
            if dir.join(MAIN).exists() {
                fs::sync(&dir.join(MAIN))?;
            }
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
    /// that is killed leaves no contents of an unknown run. [`CaptureSession::write`] returns a failure.
    pub fn describe(&mut self) {
        self.undescribed = self.target.lock.and_then(|lock| self.write_records(lock).err());
    }

    fn write_records(&self, lock: &LockedSubject<'_>) -> io::Result<()> {
        let Target { archive, subject, call, .. } = self.target;
        let dir = archive.run_dir(&self.index.run).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(old) = &self.replaced
            && let Some(mut record) = archive.run_to_change(&old.run)?
            && record.end(old.by, None, call.at)
        {
            lock.run_file(&record)?.write(&record)?;
            archive.mark_unfinished(&old.run)?;
        }
        // Metadata-only mode may have been turned on since the run began.
        let known = archive.run_to_change(&self.index.run)?;
        let is_stale = known.as_ref().is_none_or(|run| archive.metadata_only && !run.metadata_only);
        if self.run_changed || is_stale {
            let rebuilt = || dir.exists().then(|| archive.rebuilt_run(subject, &self.index));
            let record = self.record(known.or_else(rebuilt));
            match call.durable {
                true => lock.run_file(&record)?.write_synced(&record)?,
                false => drop(lock.run_file(&record)?.write(&record)?),
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
