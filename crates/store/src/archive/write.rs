//! Writes what a capture found: the description of a new run, then the contents of new and changed files, the manifest, and the index
//! last. A file that cannot be stored is recorded as such.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::capture_in_progress::{CaptureInProgress, CaptureRequest, FileContent, Target};
use super::contents::{ContentWriter, CopiedFile, measure};
use super::directory::Archive;
use super::index::CapturedFile;
use super::journal::{Change, Snapshot};
use super::journal_points::{JournalPoint, MAIN, point_after, single_journal};
use super::run::CaptureScope;
use super::run_lock::LockedSubject;
use super::scan::{Scan, ScannedEntry};
use crate::metadata_only;
use crate::packed::thaw;
use teamkeep_model::team::{FileFacts, Flaw};
use teamkeep_model::words::count;
use teamkeep_model::{Limit, Note, Severity};
use teamkeep_system::clock;
use teamkeep_system::fs::{self, Appender, Stamp};

impl Archive {
    /// Stores a file of the subject's run that is not below Claude Code's directory. Returns whether it is new or has
    /// changed: `is_same` compares its last content with this one.
    pub fn add_file(
        &self,
        subject: &CaptureScope,
        call: &CaptureRequest<'_>,
        path: &str,
        bytes: &[u8],
        is_same: impl Fn(&[u8]) -> bool,
    ) -> io::Result<bool> {
        let Some(lock) = self.lock(subject)? else { return Err(io::ErrorKind::TimedOut.into()) };
        let Some(index) = self.index(subject) else { return Ok(false) };
        let last = self.journal(&index.run).last().remove(path).and_then(|state| state.object);
        if last.is_some_and(|last| self.content(&index.run, &last).is_ok_and(|last| is_same(&last))) {
            return Ok(false);
        }
        let (client, scan) = (Path::new(""), Scan::default());
        let target = Target { archive: self, subject, client, call, lock: Some(&lock) };
        let mut capture = CaptureInProgress::new(target, Some(index), &scan);
        capture.describe();
        let (object, _) = capture.put(path, bytes)?;
        capture.add(Change {
            path: path.to_owned(),
            object: Some(object),
            size: bytes.len() as u64,
            ..Change::default()
        });
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
            let mut record = archive.described(subject, &self.index, known.or_else(rebuilt), call.at);
            record.continues = record.continues.or_else(|| self.continues.clone());
            match call.durable {
                true => lock.run_file(&record)?.write_synced(&record)?,
                false => lock.run_file(&record)?.write(&record)?,
            }
        }
        Ok(())
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
        self.note_point(&path, offset, &line);
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
    fn note_point(&mut self, path: &Path, offset: u64, line: &[u8]) {
        let is_main = path.ends_with(MAIN);
        let before = self.index.journal_point.filter(|_| is_main).unwrap_or_default();
        let point = point_after(path, before, offset, line);
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

// Reads and stores new and changed team files, and records those that cannot be stored.

/// Pauses before a file is read again because it is not complete JSON: its writer may not have finished.
const PAUSES: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(3), Duration::from_millis(9)];

/// A content that was stored.
struct Stored {
    object: String,
    place: Option<u64>,
    stamp: Stamp,
    flaw: Option<Flaw>,
    torn: bool,
    read_at: i64,
    facts: Option<FileFacts>,
}

impl CaptureInProgress<'_> {
    /// Reads a file, and again if it is not complete JSON, while the capture has pauses left. Does not wait for a file
    /// that is empty, or that was equally incomplete in the last capture.
    pub(super) fn read(&mut self, path: &str) -> io::Result<FileContent> {
        let target = self.target;
        let mut pauses = PAUSES.iter();
        loop {
            let read_at = clock::file_time();
            let read =
                fs::read_stable(&target.client.join(&*self.scan.current_path(path)), target.archive.largest)?;
            let flaw = Flaw::of(path, &read.bytes);
            let is_cut = flaw.is_some_and(Flaw::is_incomplete);
            let stamp = Stamp::of(&read.metadata);
            let is_known = || self.index.files.get(path).is_some_and(|seen| seen.matches(&stamp));
            let pause = pauses.next().filter(|pause| **pause <= self.pauses);
            let Some(pause) = pause.filter(|_| is_cut && !read.bytes.is_empty() && !is_known()) else {
                let torn = is_cut || !read.steady;
                return Ok(FileContent { bytes: read.bytes, stamp, flaw, torn, read_at });
            };
            self.pauses -= *pause;
            std::thread::sleep(*pause);
        }
    }

    /// Stores every file with a new stamp, or with one too recent to be trusted: the team's own files first, then its
    /// tasks, until the deadline.
    pub(crate) fn store_files(&mut self) {
        let (scan, call) = (self.scan, self.target.call);
        let (team, tasks): (Vec<_>, Vec<_>) =
            scan.found.iter().partition(|(path, _)| path.starts_with("teams/"));
        for (path, found) in team.into_iter().chain(tasks) {
            let known = self.index.files.get(path);
            let is_trusted = known.is_some_and(|seen| !seen.fresh && seen.matches(found.stamp()));
            let is_recorded =
                || known.and_then(|seen| seen.object.as_deref()) == self.recorded_object(path, known);
            match found {
                // Before a TeamDelete, a file counts as stored only after comparing its content.
                ScannedEntry::File(_) if is_trusted && !call.durable && is_recorded() => {}
                ScannedEntry::Other(..) if is_trusted => {}
                // However early the deadline is, each capture stores at least one file.
                ScannedEntry::File(_) if (self.new_files > 0 || call.durable) && call.is_over() => {
                    self.unarchived += 1
                }
                ScannedEntry::File(stamp) => {
                    self.new_files += usize::from(known.is_none_or(|seen| !seen.matches(stamp)));
                    self.store_file(path);
                }
                ScannedEntry::Other(stamp, what) => {
                    self.index_changed = true;
                    self.notes.push(Note::problem(format!("{path} is {what} and was not followed")));
                    let (path, skipped) = (path.clone(), Some((*what).to_owned()));
                    self.index.files.insert(path.clone(), CapturedFile::skipped(stamp, what));
                    self.changed.push(Change { path, skipped, ..Change::default() });
                }
            }
        }
        if self.unarchived > 0 {
            let (left, name) = (self.unarchived, self.target.subject.name());
            let files = count(left, "file");
            let what = format!("not enough time for {files} of {name}; the next call continues");
            self.notes.push(match call.durable {
                true => Note::unstored(left, Some(Limit::Time), what),
                false => Note::new(Severity::Contention, what),
            });
        }
    }

    fn store_file(&mut self, path: &str) {
        let durable = self.target.call.durable;
        let read = match self.config.take_if(|_| path.ends_with("/config.json")) {
            Some(config) => Ok(config),
            None => self.read(path),
        };
        match read {
            Ok(content) => self.store_content(path, content),
            // The team is about to be deleted: no later call can archive this file.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge && durable => self.store_large(path),
            // It was deleted during the capture: its last content is stored, or it never existed at the time of a call.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.index.files.remove(path).is_some() || self.recorded_object(path, None).is_some() {
                    self.gone.push(path.to_owned());
                }
            }
            Err(error) => self.skip(path, &error),
        }
    }

    fn store_content(&mut self, path: &str, content: FileContent) {
        let FileContent { bytes, stamp, flaw, torn, read_at } = content;
        let bytes = match self.target.archive.metadata_only {
            true => metadata_only::file(path, &bytes),
            false => Cow::Borrowed(bytes.as_slice()),
        };
        match self.put(path, &bytes) {
            Ok((object, place)) => {
                let is_plain = !torn && flaw.is_none() && !self.target.archive.metadata_only;
                let facts = if is_plain { FileFacts::of(path, &bytes) } else { None };
                let stored = Stored { object, place, stamp, flaw, torn, read_at, facts };
                self.record_stored(path, stored);
            }
            // An error of the store does not concern the file, so the next capture tries again.
            Err(error) => self.notes.push(Note::store_failure(format!("cannot store {path}: {error}"))),
        }
    }

    /// Records which content was stored for a file.
    fn record_stored(&mut self, path: &str, stored: Stored) {
        let Stored { object, place, stamp, flaw, torn, read_at, facts } = stored;
        let before = self.index.files.get(path);
        let is_new = self.recorded_object(path, before) != Some(object.as_str());
        if is_new {
            let (path, object) = (path.to_owned(), Some(object.clone()));
            self.changed.push(Change { path, object, size: stamp.size, torn, skipped: None });
        }
        // The next capture reads a half-written file again, and then stores it in any case.
        let fresh = read_at.saturating_sub(stamp.changed) < Stamp::GRANULARITY || (torn && is_new);
        let whole = before.filter(|_| torn).and_then(CapturedFile::complete);
        let whole = whole.filter(|whole| *whole != object).map(str::to_owned);
        // Without a complete content, the gates cannot see the file.
        let flaw = flaw.filter(|_| whole.is_none());
        if is_new && (torn || flaw.is_some()) {
            let what =
                flaw.map_or_else(|| "was incomplete JSON".to_owned(), |flaw| format!("is {}", flaw.text()));
            let text = format!("{path} {what}; it was stored without changes");
            self.notes.push(Note::new(Severity::Contention, text));
        }
        let skipped = flaw.map(|flaw| flaw.text().to_owned());
        // A half-written content is not a base for the next one.
        let place = if torn { self.former_place(path, before).or(place) } else { place };
        let new = CapturedFile::new(&stamp, Some(object));
        let seen = CapturedFile { skipped, whole, place, fresh, facts, ..new };
        self.index.files.insert(path.to_owned(), seen);
        self.index_changed = true;
    }

    /// Copies a file that is larger than `largest-file`: the team is about to be deleted.
    fn store_large(&mut self, path: &str) {
        let target = self.target;
        let read_at = clock::file_time();
        let from = target.client.join(&*self.scan.current_path(path));
        let copied = match target.archive.metadata_only {
            true => measure(&from, target.call.until).and_then(|copied| {
                let text = serde_json::Value::from(metadata_only::placeholder(copied.size, &copied.hash));
                let (object, place) = self.put(path, text.to_string().as_bytes())?;
                Ok((object, place, copied))
            }),
            false => self.copy_large(path, &from),
        };
        match copied {
            Ok((object, place, copied)) => {
                let (stamp, torn) = (copied.stamp, !copied.steady);
                let stored = Stored { object, place, stamp, flaw: None, torn, read_at, facts: None };
                self.record_stored(path, stored);
            }
            Err(error) => self.skip(path, &error),
        }
    }

    /// Stores a large file, unless it is stored already: a TeamDelete is tried several times.
    fn copy_large(&mut self, path: &str, from: &Path) -> io::Result<(String, Option<u64>, CopiedFile)> {
        let until = self.target.call.until;
        if let Some((hash, place)) =
            self.index.files.get(path).and_then(|seen| seen.object.clone().zip(seen.place))
            && let Ok(measured) = measure(from, until)
            && measured.hash == hash
            && let Ok(stored) = self.target.archive.open_content(&self.index.run, &hash)
            && stored.verify().is_ok()
        {
            return Ok((hash, Some(place), measured));
        }
        let (copied, place) = self.contents()?.put_file(from, until)?;
        Ok((copied.hash.clone(), place, copied))
    }

    /// Records a file that could not be read. The next attempt is made when its stamp changes, or at the next capture
    /// if the disk failed.
    fn skip(&mut self, path: &str, error: &io::Error) {
        use io::ErrorKind::{FileTooLarge, InvalidInput, PermissionDenied, StorageFull, TimedOut};
        let limit = match error.kind() {
            FileTooLarge => Some(Limit::LargestFile),
            TimedOut => Some(Limit::LongestLook),
            _ => None,
        };
        let key = limit.and_then(Limit::key);
        let bound = key.map(|key| format!("; `{key}` under [archive] sets this")).unwrap_or_default();
        self.notes.push(Note::unstored(1, limit, format!("cannot store {path}: {error}{bound}")));
        let Some(found) = self.scan.found.get(path) else { return };
        if !matches!(error.kind(), PermissionDenied | FileTooLarge | InvalidInput | TimedOut | StorageFull) {
            return;
        }
        let skipped = error.to_string();
        let seen = CapturedFile::skipped(found.stamp(), &skipped);
        let known = self.index.files.insert(path.to_owned(), seen);
        self.index_changed = true;
        if known.is_none_or(|seen| seen.object.is_some() || !seen.matches(found.stamp())) {
            let (path, size, skipped) = (path.to_owned(), found.stamp().size, Some(skipped));
            self.changed.push(Change { path, size, skipped, ..Change::default() });
        }
    }
}
