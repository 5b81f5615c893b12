//! Captures a team's files: stores what changed since the last capture, before Claude Code deletes it.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::capture_session::CaptureSession;
use super::file_tree::MAIN;
use super::index::Index;
use super::locked_subject::LockedSubject;
use super::pack::thaw;
use super::run::EndedBy;
use super::scan::{Directories, Scan, ScannedEntry, scan, scan_erasing};
use super::snapshot::Snapshot;
use super::store::{Archive, CaptureScope};
use crate::clock::Time;
use crate::event::{Id, SafeName};
use crate::fs;
use crate::model::{Note, Severity};
use crate::team::TeamConfig;

/// The hook call that captures.
#[derive(Debug, Clone, Copy)]
pub struct CaptureRequest<'a> {
    /// When the call began.
    pub at: Time,
    /// The id of its event.
    pub event: &'a Id,
    /// Whether everything must be synced to disk before the call returns, because the files are about to be deleted.
    pub durable: bool,
    /// Deadline for reading: files that are not stored by then are left for the next call.
    pub until: Option<Instant>,
}

impl CaptureRequest<'_> {
    /// Whether the deadline has passed.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// The result of a capture.
#[derive(Debug, Default)]
pub struct Captured {
    /// The current index; `None` if no file ever existed.
    pub index: Option<Index>,
    /// Number of files that were new, changed or deleted.
    pub changes: usize,
    /// Whether the team's directory was deleted since the last capture.
    pub disappeared: bool,
    /// Failures of the store, files that could not be stored, and oddities.
    pub notes: Vec<Note>,
    /// Number of files that were not read in time.
    pub left: usize,
}

impl Captured {
    /// Adds the result of an earlier capture in the same call.
    fn after(mut self, former: Captured) -> Captured {
        self.changes += former.changes;
        self.notes.extend(former.notes);
        self
    }

    fn noted(mut self, is_damaged: bool, subject: &CaptureScope) -> Captured {
        if is_damaged {
            let text = format!("the index of {} was invalid and is rebuilt", subject.name());
            self.notes.push(Note::problem(text));
        }
        self
    }
}

impl Archive {
    /// Captures the subject's files. An unchanged team costs only its `stat` calls.
    pub fn capture(&self, subject: &CaptureScope, client: &Path, call: &CaptureRequest<'_>) -> Captured {
        if !call.durable
            && let Some(known) = self.unchanged(subject, client)
        {
            return known;
        }
        let start = Instant::now();
        let lock = self.lock(subject);
        // Waiting for the lock does not count as time for reading.
        let call = &CaptureRequest {
            until: call.until.and_then(|until| until.checked_add(start.elapsed())),
            ..*call
        };
        match lock {
            Ok(Some(lock)) => self.capture_changes(subject, client, call, Some(&lock)),
            // Nothing may be lost: without the lock, the manifest goes to a separate journal.
            Ok(None) => {
                let (mut captured, note) =
                    self.capture_alone(subject, client, call, "another process holds it");
                captured.notes.push(Note::new(Severity::Contention, note));
                captured
            }
            Err(error) if self.is_lock_obstructed(subject) => {
                let (mut captured, note) = self.capture_alone(subject, client, call, &error.to_string());
                captured.notes.push(Note::problem(note));
                captured
            }
            Err(error) => {
                let index = self.index(subject);
                Captured { index, notes: vec![Note::store_failure(error.to_string())], ..Captured::default() }
            }
        }
    }

    /// The index of a subject whose files did not change since the last capture; `None` if there is something to store.
    fn unchanged(&self, subject: &CaptureScope, client: &Path) -> Option<Captured> {
        let index = self.index(subject);
        let seen = look(subject, index.as_ref(), client);
        let is_going = || index.is_none() && self.look_at_erasing(subject, None, client).is_some();
        let is_known = is_unchanged(index.as_ref(), &seen)
            && index.as_ref().is_none_or(|index| self.missing(index) == 0)
            && !is_going();
        (is_known && !self.is_metadata_only(index.as_ref())).then(|| Captured {
            index,
            notes: seen.problems,
            ..Captured::default()
        })
    }

    /// Whether metadata-only mode was turned on during the run and the run's description does not have it yet.
    fn is_metadata_only(&self, index: Option<&Index>) -> bool {
        let Some(index) = index.filter(|index| self.metadata_only && !index.ended) else { return false };
        self.run(&index.run).is_some_and(|run| !run.metadata_only)
    }

    fn capture_alone(
        &self,
        subject: &CaptureScope,
        client: &Path,
        call: &CaptureRequest<'_>,
        why: &str,
    ) -> (Captured, String) {
        let name = subject.name();
        let note =
            format!("{name} has a separate journal, because the archive's lock was not available: {why}");
        (self.capture_changes(subject, client, call, None), note)
    }

    /// Begins the run of a subject without files.
    ///
    /// # Errors
    /// When an I/O operation fails, or another process keeps the lock for too long.
    pub fn begin(&self, subject: &CaptureScope, call: &CaptureRequest<'_>) -> io::Result<Index> {
        let Some(lock) = self.lock(subject)? else { return Err(io::ErrorKind::TimedOut.into()) };
        if let Some(index) = self.index(subject) {
            return Ok(index);
        }
        let seen = Scan::default();
        let mut look = CaptureSession::new(self, None, &seen, call);
        look.resolve_run(subject, Path::new(""));
        self.write(subject, &mut look, None, Some(&lock))?;
        Ok(look.index)
    }

    fn capture_changes(
        &self,
        subject: &CaptureScope,
        client: &Path,
        call: &CaptureRequest<'_>,
        lock: Option<&LockedSubject<'_>>,
    ) -> Captured {
        let known = self.index(subject);
        let is_damaged = known.is_none() && self.knows(subject);
        let seen = look(subject, known.as_ref(), client);
        let is_going = !seen.team_dir && known.as_ref().is_none_or(|index| index.present);
        let going = is_going.then(|| self.look_at_erasing(subject, known.as_ref(), client)).flatten();
        let Some(going) = going else {
            if known.is_none() && seen.found.is_empty() {
                let notes = seen.problems;
                return Captured { notes, ..Captured::default() };
            }
            return self.keep(subject, client, call, lock, known, &seen).noted(is_damaged, subject);
        };
        let mut former = self.keep(subject, client, call, lock, known, &going);
        let known = former.index.take();
        self.keep(subject, client, call, lock, known, &seen).after(former).noted(is_damaged, subject)
    }

    /// The files of the team that Claude Code is about to delete, unless they belong to another run.
    fn look_at_erasing(&self, subject: &CaptureScope, index: Option<&Index>, client: &Path) -> Option<Scan> {
        let seen = scan_erasing(client, &directories(subject, index))?;
        let config = client.join(&*seen.place(&format!("teams/{}/config.json", subject.name())));
        let read = fs::read_stable(&config, self.largest).ok();
        let config = read.and_then(|read| TeamConfig::parse(&read.bytes)).unwrap_or_default();
        (!index.is_some_and(|index| index.is_other_run(&config))).then_some(seen)
    }

    fn keep(
        &self,
        subject: &CaptureScope,
        client: &Path,
        call: &CaptureRequest<'_>,
        lock: Option<&LockedSubject<'_>>,
        known: Option<Index>,
        seen: &Scan,
    ) -> Captured {
        let mut look = CaptureSession::new(self, known, seen, call);
        look.locked = lock.is_some();
        look.resolve_run(subject, client);
        look.reconcile(lock.is_some());
        look.keep_files(subject, client);
        look.note_gone(subject);
        let snapshot = look.snapshot(lock.is_some());
        if let Err(error) = self.write(subject, &mut look, snapshot.as_ref(), lock) {
            look.notes.push(Note::store_failure(error.to_string()));
        }
        let changes = snapshot.map_or(0, |snapshot| snapshot.changed.len() + snapshot.gone.len());
        let CaptureSession { disappeared, notes, left, index, .. } = look;
        Captured { index: Some(index), changes, disappeared, notes, left }
    }

    /// Writes the result of a capture: the objects already exist, so the manifest comes next and the index last.
    fn write(
        &self,
        subject: &CaptureScope,
        look: &mut CaptureSession<'_>,
        snapshot: Option<&Snapshot>,
        lock: Option<&LockedSubject<'_>>,
    ) -> io::Result<()> {
        let dir = self.run_dir(&look.index.run).ok_or(io::ErrorKind::InvalidInput)?;
        // Sync the contents before writing the manifest that names them.
        if look.call.durable {
            look.sync(&dir)?;
        }
        if let (Some(lock), Some(old)) = (lock, &look.replaced)
            && let Some(mut record) = self.run(old)
            && record.end(EndedBy::Replaced, None, look.call.at)
        {
            lock.save_run(&record, false)?;
            self.mark_unfinished(old)?;
        }
        // Metadata-only mode may have been turned on since the run began.
        let known = self.run(&look.index.run);
        let is_stale =
            look.run_changed || known.as_ref().is_none_or(|run| self.metadata_only && !run.metadata_only);
        if let (Some(lock), true) = (lock, is_stale) {
            let damaged = || dir.exists().then(|| self.rebuilt_run(subject, &look.index));
            let record = look.record(subject, known.or_else(damaged));
            lock.save_run(&record, look.call.durable)?;
        }
        if let Some(snapshot) = snapshot {
            let main = dir.join(MAIN);
            let is_usable = || match main.symlink_metadata() {
                Ok(found) => found.is_file(),
                Err(_) => thaw(&main).is_ok(),
            };
            let name = match lock {
                Some(_) if is_usable() => MAIN.to_owned(),
                _ => format!("snapshots-{}.jsonl", look.call.event),
            };
            let mut journal = fs::Appender::open(&dir.join(&name))?;
            let is_torn = journal.is_torn()?;
            journal.append_line(&snapshot.line())?;
            if look.call.durable {
                journal.sync()?;
            }
            if is_torn {
                let what = "was incomplete: its writer was probably killed";
                let text = format!("the last line of {name} of run {} {what}", look.index.run);
                look.notes.push(Note::problem(text));
            }
        }
        if look.call.durable {
            if dir.join(MAIN).exists() {
                fs::sync(&dir.join(MAIN))?;
            }
            fs::sync(&dir)?;
        }
        match lock {
            Some(lock) if snapshot.is_some() || look.index_changed => {
                look.index.journal = Some(self.journal_length(&look.index.run));
                // The index can be rebuilt from the journal, so this loses nothing.
                if let Err(error) = lock.save_index(&look.index) {
                    look.notes.push(Note::problem(format!("cannot write the index: {error}")));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Scans the directories of a subject.
fn look(subject: &CaptureScope, index: Option<&Index>, client: &Path) -> Scan {
    scan(client, &directories(subject, index))
}

/// The directories with a subject's files.
fn directories<'a>(subject: &'a CaptureScope, index: Option<&Index>) -> Directories<'a> {
    let first = match subject {
        CaptureScope::Team(name) | CaptureScope::Session(name) => name.clone(),
    };
    let more = index.map(|index| index.more_tasks.as_slice()).unwrap_or_default();
    Directories {
        team: subject.team(),
        mail: index.and_then(|index| SafeName::new(index.mail_dir.as_deref()?)),
        named: index.map(|index| index.lists.all().filter_map(SafeName::new).collect()).unwrap_or_default(),
        tasks: std::iter::once(first).chain(more.iter().filter_map(|name| SafeName::new(name))).collect(),
    }
}

fn is_unchanged(index: Option<&Index>, scan: &Scan) -> bool {
    let Some(index) = index else { return scan.found.is_empty() };
    let same = |(path, found): (&String, &ScannedEntry)| {
        index.files.get(path).is_some_and(|seen| !seen.fresh && seen.matches(found.stamp()))
    };
    index.present == scan.team_dir
        && (index.files.len() == scan.found.len() || !scan.problems.is_empty())
        && scan.found.iter().all(same)
}
