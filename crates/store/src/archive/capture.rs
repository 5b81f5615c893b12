//! Captures a team's files: stores what changed since the last capture, before Claude Code deletes it.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::capture_in_progress::{CaptureInProgress, CaptureRequest, Target};
use super::directory::Archive;
use super::index::Index;
use super::run::CaptureScope;
use super::run_lock::LockedSubject;
use super::scan::{Directories, Scan, ScannedEntry, scan, scan_erasing};
use teamkeep_model::event::SafeName;
use teamkeep_model::team::TeamConfig;
use teamkeep_model::{Note, Severity};
use teamkeep_system::fs;

/// The result of a capture.
#[derive(Debug, Default)]
pub struct Captured {
    /// The captured subject, if it is not the one that was asked for: see [`CaptureScope::TeamIn`].
    pub instead: Option<CaptureScope>,
    /// The current index; `None` if no file ever existed.
    pub index: Option<Index>,
    /// Number of files that were new, changed or deleted.
    pub changes: usize,
    /// Whether the team's directory was deleted since the last capture.
    pub disappeared: bool,
    /// Failures of the store, files that could not be stored, and oddities.
    pub notes: Vec<Note>,
    /// Number of files that were not read in time.
    pub unarchived: usize,
}

impl Archive {
    /// Captures the subject's files in this configuration directory. An unchanged team costs only its `stat` calls. A team of
    /// another directory is left alone: nothing here is evidence about it.
    pub fn capture(&self, subject: &CaptureScope, client: &Path, call: &CaptureRequest<'_>) -> Captured {
        // The second time, the name belongs to another directory, and the team here has a subject of its own.
        for _ in 0..2 {
            let Some((located, index)) = self.locate(subject, client) else { break };
            if let Some(captured) = self.capture_located(&located, index, client, call) {
                return Captured { instead: (located != *subject).then_some(located), ..captured };
            }
        }
        Captured::default()
    }

    /// `None` if a call in another directory took the team's name after the subject was located.
    fn capture_located(
        &self,
        subject: &CaptureScope,
        index: Option<Index>,
        client: &Path,
        call: &CaptureRequest<'_>,
    ) -> Option<Captured> {
        if !call.durable
            && let Some(captured) = self.unchanged(subject, index, client)
        {
            return Some(captured);
        }
        let start = Instant::now();
        let lock = self.lock(subject);
        // Waiting for the lock does not count as time for reading.
        let until = call.until.and_then(|until| until.checked_add(start.elapsed()));
        let call = &CaptureRequest { until, ..*call };
        let capture = |lock: Option<&LockedSubject<'_>>| {
            Target { archive: self, subject, client, call, lock }.capture_changes()
        };
        // Nothing may be lost: without the lock, the manifest goes to a separate journal.
        let (why, severity) = match lock {
            Ok(Some(lock)) => return capture(Some(&lock)),
            Ok(None) => ("another process holds it".to_owned(), Severity::Contention),
            Err(error) if fs::is_blocked_by_other_file(&self.lock_path(subject)) => {
                (error.to_string(), Severity::Problem)
            }
            Err(error) => {
                let notes = vec![Note::store_failure(error.to_string())];
                return Some(Captured { index: self.index(subject), notes, ..Captured::default() });
            }
        };
        let what = "has a separate journal, because the archive's lock was not available";
        let mut captured = capture(None)?;
        captured.notes.push(Note::new(severity, format!("{} {what}: {why}", subject.name())));
        Some(captured)
    }

    /// The index of a subject whose files did not change since the last capture; `None` if there is something to store.
    fn unchanged(&self, subject: &CaptureScope, index: Option<Index>, client: &Path) -> Option<Captured> {
        let seen = scan(client, &directories(subject, index.as_ref()));
        if is_unreachable(index.as_ref(), &seen, client) {
            return Some(Captured { index, ..Captured::default() });
        }
        let is_complete = || match &index {
            Some(index) => self.missing(index) == 0 && !self.is_newly_metadata_only(index),
            None => self.scan_erasing(subject, None, client).is_none(),
        };
        (is_unchanged(index.as_ref(), &seen) && is_complete()).then(|| Captured {
            index,
            notes: seen.problems,
            ..Captured::default()
        })
    }

    /// Whether metadata-only mode was turned on during the run and the run's description does not have it yet.
    fn is_newly_metadata_only(&self, index: &Index) -> bool {
        self.metadata_only && !index.ended && self.run(&index.run).is_some_and(|run| !run.metadata_only)
    }

    /// Begins the run of a subject without files.
    pub fn begin(&self, subject: &CaptureScope, call: &CaptureRequest<'_>) -> io::Result<Index> {
        let Some(lock) = self.lock(subject)? else { return Err(io::ErrorKind::TimedOut.into()) };
        if let Some(index) = self.index(subject) {
            return Ok(index);
        }
        let target = Target { archive: self, subject, client: Path::new(""), call, lock: Some(&lock) };
        let seen = Scan::default();
        let mut capture = CaptureInProgress::new(target, None, &seen);
        capture.resolve_run();
        capture.describe();
        capture.write(None)?;
        Ok(capture.index)
    }

    /// The files of the team that Claude Code is about to delete, unless they belong to another run.
    fn scan_erasing(&self, subject: &CaptureScope, index: Option<&Index>, client: &Path) -> Option<Scan> {
        let seen = scan_erasing(client, &directories(subject, index))?;
        let path = format!("teams/{}/config.json", subject.name());
        let read = fs::read_stable(&client.join(&*seen.current_path(&path)), self.largest).ok();
        let config = read.and_then(|read| TeamConfig::parse(&read.bytes)).unwrap_or_default();
        (!index.is_some_and(|index| index.is_other_run(&config))).then_some(seen)
    }
}

impl Target<'_> {
    fn capture_changes(self) -> Option<Captured> {
        let Target { archive, subject, client, .. } = self;
        let known = archive.index(subject);
        if known.as_ref().is_some_and(|index| !archive.is_of_directory(index, subject, client)) {
            return None;
        }
        let is_damaged = known.is_none() && archive.knows(subject);
        let seen = scan(client, &directories(subject, known.as_ref()));
        if is_unreachable(known.as_ref(), &seen, client) {
            return Some(Captured { index: known, ..Captured::default() });
        }
        let may_be_erasing = !seen.team_dir && known.as_ref().is_none_or(|index| index.present);
        let erasing = may_be_erasing.then(|| archive.scan_erasing(subject, known.as_ref(), client)).flatten();
        if erasing.is_none() && known.is_none() && seen.found.is_empty() {
            return Some(Captured { notes: seen.problems, ..Captured::default() });
        }
        let mut captured = match erasing {
            None => self.capture_scan(known, &seen),
            Some(erasing) => {
                let former = self.capture_scan(known, &erasing);
                let mut captured = self.capture_scan(former.index, &seen);
                captured.changes += former.changes;
                captured.notes.extend(former.notes);
                captured
            }
        };
        if is_damaged {
            let text = format!("the index of {} was invalid and is rebuilt", subject.name());
            captured.notes.push(Note::problem(text));
        }
        Some(captured)
    }

    fn capture_scan(self, known: Option<Index>, seen: &Scan) -> Captured {
        let mut capture = CaptureInProgress::new(self, known, seen);
        capture.resolve_run();
        capture.describe();
        capture.reconcile();
        capture.store_files();
        capture.find_deleted();
        let snapshot = capture.snapshot();
        if let Err(error) = capture.write(snapshot.as_ref()) {
            let name = self.subject.name();
            capture.notes.push(Note::store_failure(format!("cannot store the files of {name}: {error}")));
        }
        let changes = snapshot.map_or(0, |snapshot| snapshot.changed.len() + snapshot.gone.len());
        let CaptureInProgress { disappeared, notes, unarchived, index, .. } = capture;
        Captured { index: Some(index), changes, disappeared, notes, unarchived, instead: None }
    }
}

/// The directories with a subject's files.
fn directories<'a>(subject: &'a CaptureScope, index: Option<&Index>) -> Directories<'a> {
    let more = index.map(|index| index.more_tasks.as_slice()).unwrap_or_default();
    let more = more.iter().filter_map(|name| SafeName::new(name));
    Directories {
        team: subject.team(),
        mail: index.and_then(|index| SafeName::new(index.mail_dir.as_deref()?)),
        named: index.map(|index| index.lists.all().filter_map(SafeName::new).collect()).unwrap_or_default(),
        tasks: std::iter::once(subject.name().clone()).chain(more).collect(),
    }
}

/// Whether the files are missing because the whole configuration directory is: it may be on a volume that is not mounted.
fn is_unreachable(index: Option<&Index>, seen: &Scan, client: &Path) -> bool {
    let had_files = index.is_some_and(|index| index.present || !index.files.is_empty());
    had_files && !seen.team_dir && seen.found.is_empty() && !client.exists()
}

fn is_unchanged(index: Option<&Index>, scan: &Scan) -> bool {
    let Some(index) = index else { return scan.found.is_empty() };
    let is_same = |(path, found): (&String, &ScannedEntry)| {
        index.files.get(path).is_some_and(|seen| !seen.fresh && seen.matches(found.stamp()))
    };
    index.present == scan.team_dir
        && (index.files.len() == scan.found.len() || !scan.problems.is_empty())
        && scan.found.iter().all(is_same)
}
