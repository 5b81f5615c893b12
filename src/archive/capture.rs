//! One look at a team's files: what changed since the last look is kept, before the client erases it.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::index::Index;
use super::look::Look;
use super::pack::Pack;
use super::run::EndedBy;
use super::scan::{Directories, Found, Scan, scan, scan_erasing};
use super::snapshot::Snapshot;
use super::state::MAIN;
use super::store::{Archive, Subject};
use crate::clock::Time;
use crate::event::{Id, SafeName};
use crate::fs::{self, Lock};
use crate::team::TeamConfig;

/// The hook call that looks.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// When it began.
    pub at: Time,
    /// Its event's id.
    pub event: &'a Id,
    /// Whether everything must be on disk (fsync) before it returns: the files are about to be erased.
    pub durable: bool,
    /// When it must be done with reading: what is not kept by then is left for the next call.
    pub until: Option<Instant>,
}

impl Call<'_> {
    /// Whether its time for reading is over.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Files that could not be kept, although the store works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Which files, and why.
    pub what: String,
    /// How many.
    pub files: usize,
}

/// What came of a look.
#[derive(Debug, Default)]
pub struct Captured {
    /// What is known now; `None` when nothing was ever there.
    pub index: Option<Index>,
    /// How many files were new, changed or gone.
    pub changes: usize,
    /// Whether the team's directory was there before and is no longer.
    pub disappeared: bool,
    /// Failures of the store.
    pub problems: Vec<String>,
    /// Files that could not be kept by a store that works, and why.
    pub losses: Vec<Loss>,
    /// What was kept, or needed no keeping, but was odd.
    pub notes: Vec<String>,
    /// What comes of many writers at once, and costs nothing: half-written files, locks that others kept.
    pub usual: Vec<String>,
    /// The number of files that were not read in time.
    pub left: usize,
}

impl Captured {
    /// What came of this look and of the one before it in the same call.
    fn after(mut self, former: Captured) -> Captured {
        self.changes += former.changes;
        self.problems.extend(former.problems);
        self.losses.extend(former.losses);
        self.notes.extend(former.notes);
        self.usual.extend(former.usual);
        self
    }

    fn noted(mut self, is_damaged: bool, subject: &Subject) -> Captured {
        if is_damaged {
            self.notes.push(format!("the index of {} made no sense; it is made again", subject.name()));
        }
        self
    }
}

impl Archive {
    /// Looks at the subject's files and keeps what changed. An unchanged team costs its `stat`s and nothing else.
    pub fn capture(&self, subject: &Subject, client: &Path, call: &Call<'_>) -> Captured {
        let index = self.index(subject);
        let seen = look(subject, index.as_ref(), client);
        let is_going = || index.is_none() && self.look_at_erasing(subject, None, client).is_some();
        let is_known = is_unchanged(index.as_ref(), &seen)
            && index.as_ref().is_none_or(|index| self.missing(index) == 0)
            && !is_going();
        if !call.durable && is_known && !self.is_to_be_veiled(index.as_ref()) {
            return Captured { index, problems: seen.problems, ..Captured::default() };
        }
        let start = Instant::now();
        let lock = self.lock(subject);
        // What was waited is not taken from the time for reading.
        let call = &Call { until: call.until.and_then(|until| until.checked_add(start.elapsed())), ..*call };
        match lock {
            Ok(Some(lock)) => self.capture_changes(subject, client, call, Some(&lock)),
            // Nothing may be lost: without the lock the manifest goes to a journal of its own.
            Ok(None) => {
                let (mut captured, note) = self.capture_alone(subject, client, call, "it is kept by others");
                captured.usual.push(note);
                captured
            }
            Err(error) if self.is_lock_obstructed(subject) => {
                let (mut captured, note) = self.capture_alone(subject, client, call, &error.to_string());
                captured.notes.push(note);
                captured
            }
            Err(error) => Captured { index, problems: vec![error.to_string()], ..Captured::default() },
        }
    }

    /// Whether the user has asked for no texts since the run began, and its record does not say so yet.
    fn is_to_be_veiled(&self, index: Option<&Index>) -> bool {
        let Some(index) = index.filter(|index| self.veiled && !index.ended) else { return false };
        self.run(&index.run).is_some_and(|run| !run.veiled)
    }

    fn capture_alone(
        &self,
        subject: &Subject,
        client: &Path,
        call: &Call<'_>,
        why: &str,
    ) -> (Captured, String) {
        let name = subject.name();
        let note = format!("{name} has a journal of its own: the archive's lock was not to be had: {why}");
        (self.capture_changes(subject, client, call, None), note)
    }

    /// Begins the run of a subject that has nothing on disk yet.
    ///
    /// # Errors
    /// When the disk refuses or the lock is kept by somebody else for too long.
    pub fn begin(&self, subject: &Subject, call: &Call<'_>) -> io::Result<Index> {
        let Some(lock) = self.lock(subject)? else { return Err(io::ErrorKind::TimedOut.into()) };
        if let Some(index) = self.index(subject) {
            return Ok(index);
        }
        let seen = Scan::default();
        let mut look = Look::new(self, None, &seen, call);
        look.settle_run(subject, Path::new(""));
        self.write(subject, &mut look, None, Some(&lock))?;
        Ok(look.index)
    }

    fn capture_changes(
        &self,
        subject: &Subject,
        client: &Path,
        call: &Call<'_>,
        lock: Option<&Lock>,
    ) -> Captured {
        let known = self.index(subject);
        let is_damaged = known.is_none() && self.knows(subject);
        let seen = look(subject, known.as_ref(), client);
        let is_going = !seen.team_dir && known.as_ref().is_none_or(|index| index.present);
        let going = is_going.then(|| self.look_at_erasing(subject, known.as_ref(), client)).flatten();
        let Some(going) = going else {
            if known.is_none() && seen.found.is_empty() {
                return Captured { problems: seen.problems, ..Captured::default() };
            }
            return self.keep(subject, client, call, lock, known, &seen).noted(is_damaged, subject);
        };
        let mut former = self.keep(subject, client, call, lock, known, &going);
        let known = former.index.take();
        self.keep(subject, client, call, lock, known, &seen).after(former).noted(is_damaged, subject)
    }

    /// What the client is about to erase of the team, unless it is another run's.
    fn look_at_erasing(&self, subject: &Subject, index: Option<&Index>, client: &Path) -> Option<Scan> {
        let seen = scan_erasing(client, &directories(subject, index))?;
        let config = client.join(&*seen.place(&format!("teams/{}/config.json", subject.name())));
        let read = fs::read_steady(&config, self.largest).ok();
        let config = read.and_then(|read| TeamConfig::parse(&read.bytes)).unwrap_or_default();
        (!index.is_some_and(|index| index.is_other_run(&config))).then_some(seen)
    }

    fn keep(
        &self,
        subject: &Subject,
        client: &Path,
        call: &Call<'_>,
        lock: Option<&Lock>,
        known: Option<Index>,
        seen: &Scan,
    ) -> Captured {
        let mut look = Look::new(self, known, seen, call);
        look.locked = lock.is_some();
        look.settle_run(subject, client);
        look.reconcile(lock.is_some());
        look.keep_files(subject, client);
        look.note_gone(subject);
        let snapshot = look.snapshot(lock.is_some());
        let problems = match self.write(subject, &mut look, snapshot.as_ref(), lock) {
            Ok(()) => look.problems,
            Err(error) => {
                look.problems.push(error.to_string());
                look.problems
            }
        };
        let changes = snapshot.map_or(0, |snapshot| snapshot.changed.len() + snapshot.gone.len());
        let Look { disappeared, losses, notes, usual, left, index, .. } = look;
        Captured { index: Some(index), changes, disappeared, problems, losses, notes, usual, left }
    }

    /// Writes what a look found: objects are there already, so the manifest comes now and the index last.
    fn write(
        &self,
        subject: &Subject,
        look: &mut Look<'_>,
        snapshot: Option<&Snapshot>,
        lock: Option<&Lock>,
    ) -> io::Result<()> {
        let dir = self.run_dir(&look.index.run).ok_or(io::ErrorKind::InvalidInput)?;
        // The contents before the manifest that names them.
        if std::mem::take(&mut look.unsynced) {
            fs::sync_all(self.root())?;
        }
        if let (Some(lock), Some(old)) = (lock, &look.replaced)
            && let Some(mut record) = self.run(old)
            && record.end(EndedBy::Replaced, None, look.call.at)
        {
            self.save_run(lock, &record, false)?;
            self.mark_unfinished(old)?;
        }
        // The user may have asked for no texts since the run began.
        let known = self.run(&look.index.run);
        let is_stale = look.run_changed || known.as_ref().is_none_or(|run| self.veiled && !run.veiled);
        if let (Some(lock), true) = (lock, is_stale) {
            let damaged = || dir.exists().then(|| self.rebuilt_run(subject, &look.index));
            let record = look.record(subject, known.or_else(damaged));
            self.save_run(lock, &record, look.call.durable)?;
        }
        if let Some(snapshot) = snapshot {
            let mut line = serde_json::to_vec(snapshot)?;
            line.push(b'\n');
            let name = match lock {
                Some(_) if !fs::is_obstructed(&dir.join(MAIN)) => MAIN.to_owned(),
                _ => format!("snapshots-{}.jsonl", look.call.event),
            };
            if !fs::append_line(&dir.join(&name), &line, look.call.durable)? {
                let what = "was cut; its writer must have been killed";
                look.notes.push(format!("the last line of {name} of run {} {what}", look.index.run));
            }
        }
        if look.call.durable {
            self.objects.sync_names()?;
            Pack::new(dir.clone()).sync()?;
            if dir.join(MAIN).exists() {
                fs::sync_file(&dir.join(MAIN))?;
            }
            fs::sync_dir(&dir)?;
        }
        match lock {
            Some(lock) if snapshot.is_some() || look.index_changed => {
                look.index.journal = Some(self.journal_length(&look.index.run));
                // It can be made again from the journal: without it nothing is lost.
                if let Err(error) = self.save_index(lock, subject, &look.index) {
                    look.notes.push(format!("cannot note what was captured: {error}"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Looks at the directories that a subject lies in.
fn look(subject: &Subject, index: Option<&Index>, client: &Path) -> Scan {
    scan(client, &directories(subject, index))
}

/// The directories that a subject's files lie in.
fn directories<'a>(subject: &'a Subject, index: Option<&Index>) -> Directories<'a> {
    let first = match subject {
        Subject::Team(name) | Subject::Session(name) => name.clone(),
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
    let same = |(path, found): (&String, &Found)| {
        index.files.get(path).is_some_and(|seen| !seen.fresh && seen.matches(found.stamp()))
    };
    index.present == scan.team_dir
        && (index.files.len() == scan.found.len() || !scan.problems.is_empty())
        && scan.found.iter().all(same)
}
