//! A look while it is taken: which run it is, which files are new or gone, and what of them can be kept.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use chrono::TimeDelta;

use super::capture::Call;
use super::index::{Index, Seen};
use super::object::Care;
use super::run::{RunRecord, run_id};
use super::scan::{Found, Scan};
use super::snapshot::{Change, Snapshot};
use super::state::Held;
use super::store::{Archive, Subject};
use crate::clock;
use crate::event::SafeName;
use crate::fs::{self, Stamp};
use crate::team::TeamConfig;
use crate::veil;

/// A file is read again after these pauses when it is no whole JSON: its writer may be half done.
const PAUSES: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(3), Duration::from_millis(9)];

/// All pauses of one look together: others wait for its lock, and the client for the hook.
const ALL_PAUSES: Duration = Duration::from_millis(15);

/// A file that changed so shortly before it was read may change again without a new stamp: the kernel's clock
/// for files is that coarse.
const FRESH: i64 = 50_000_000;

/// A look while it is taken.
pub(super) struct Look<'a> {
    pub archive: &'a Archive,
    pub scan: &'a Scan,
    pub call: &'a Call<'a>,
    pub index: Index,
    /// The run that had the name before.
    pub replaced: Option<String>,
    continues: Option<String>,
    config: Option<Content>,
    /// What the journal says, where the index is not enough to go by.
    on_record: Option<Held>,
    pauses: Duration,
    news: usize,
    changed: Vec<Change>,
    gone: Vec<String>,
    pub problems: Vec<String>,
    pub notes: Vec<String>,
    pub run_changed: bool,
    pub index_changed: bool,
    pub disappeared: bool,
    pub was_present: Option<bool>,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        archive: &'a Archive,
        known: Option<Index>,
        scan: &'a Scan,
        call: &'a Call<'a>,
    ) -> Look<'a> {
        let was_present = known.as_ref().map(|index| index.present);
        Look {
            archive,
            scan,
            call,
            disappeared: was_present == Some(true) && !scan.team_dir,
            index: known.unwrap_or_default(),
            replaced: None,
            continues: None,
            config: None,
            on_record: None,
            pauses: ALL_PAUSES,
            news: 0,
            changed: Vec::new(),
            gone: Vec::new(),
            problems: scan.problems.clone(),
            notes: Vec::new(),
            run_changed: false,
            index_changed: false,
            was_present,
        }
    }

    /// Finds out which run this is: another `createdAt` or lead session under the same name is another run.
    pub(super) fn settle_run(&mut self, subject: &Subject, client: &Path) {
        let team = match subject {
            Subject::Team(team) => team,
            Subject::Session(session) => {
                if self.index.run.is_empty() {
                    self.begin(subject, run_id(&["session", session.as_str()]));
                }
                return;
            }
        };
        let path = format!("teams/{team}/config.json");
        let changed = match (self.scan.found.get(&path), self.index.files.get(&path)) {
            (Some(Found::File(stamp)), Some(seen)) => seen.fresh || !seen.matches(stamp),
            (Some(Found::File(_)), None) => true,
            _ => false,
        };
        self.config = changed.then(|| self.read(client, &path).ok()).flatten();
        let whole = self.config.as_ref().filter(|content| !content.torn);
        let config = whole.and_then(|content| TeamConfig::parse(&content.bytes)).unwrap_or_default();
        if self.index.run.is_empty() {
            self.begin(subject, self.id_of(team, &config));
        } else if self.index.is_other_run(&config) {
            let old = std::mem::take(&mut self.index);
            if old.lead_session.is_some() && old.lead_session == config.lead_session {
                self.continues = Some(old.run.clone());
            }
            if !old.ended {
                self.replaced = Some(old.run);
            }
            (self.was_present, self.disappeared) = (None, false);
            self.begin(subject, self.id_of(team, &config));
        }
        let before = (self.index.created_at, self.index.lead_session.clone());
        self.index.learn(&config);
        self.run_changed |= before != (self.index.created_at, self.index.lead_session.clone());
    }

    fn begin(&mut self, subject: &Subject, run: String) {
        self.index.v = 1;
        self.index.run = run;
        self.run_changed = true;
        self.index_changed = true;
        self.remember(subject);
    }

    fn id_of(&self, team: &SafeName, config: &TeamConfig) -> String {
        match (config.created_at, &config.lead_session) {
            (None, None) => run_id(&["unknown", team.as_str(), &clock::stamp(self.call.at)]),
            (created, lead) => {
                let created = created.map(|millis| millis.to_string()).unwrap_or_default();
                run_id(&["team", team.as_str(), &created, lead.as_deref().unwrap_or_default()])
            }
        }
    }

    /// Reads the journal where the index, which is a cache of it, is not enough to go by: before a TeamDelete the
    /// journal itself must be whole, and what was written without the lock, late perhaps, may say something older.
    pub(super) fn reconcile(&mut self, locked: bool) {
        let alone = self.archive.alone(&self.index.run);
        let unseen = locked && alone != self.index.alone;
        if !unseen && !self.call.durable {
            return;
        }
        let journal = self.archive.journal(&self.index.run);
        if let Some(last) = journal.snapshots.last()
            && last.at > self.index.at
        {
            self.index.at.clone_from(&last.at);
        }
        if locked {
            self.index.alone = alone;
            self.index_changed |= unseen;
        }
        self.on_record = Some(journal.last());
    }

    /// The content that is on record for a file.
    fn known(&self, path: &str) -> Option<&str> {
        match &self.on_record {
            Some(held) => held.get(path).filter(|state| state.gone_at.is_none())?.object.as_deref(),
            None => self.index.files.get(path)?.object.as_deref(),
        }
    }

    /// Keeps every file whose stamp is new, or was too fresh to be trusted: the team's own first, then its tasks,
    /// as many as there is time for.
    pub(super) fn keep_files(&mut self, subject: &Subject, client: &Path) {
        let mut left = 0;
        let scan = self.scan;
        let (team, tasks): (Vec<_>, Vec<_>) =
            scan.found.iter().partition(|(path, _)| path.starts_with("teams/"));
        for (path, found) in team.into_iter().chain(tasks) {
            let known = self.index.files.get(path);
            let trusted = known.is_some_and(|seen| !seen.fresh && seen.matches(found.stamp()));
            let same = || known.and_then(|seen| seen.object.as_deref()) == self.known(path);
            match found {
                // Before a TeamDelete nothing is taken for kept that was not compared.
                Found::File(_) if trusted && !self.call.durable && same() => {}
                Found::Other(..) if trusted => {}
                // However short the time is, each look gets on by one file.
                Found::File(_) if (self.news > 0 || self.call.durable) && self.call.is_over() => left += 1,
                Found::File(stamp) => {
                    self.news += usize::from(known.is_none_or(|seen| !seen.matches(stamp)));
                    self.keep_file(client, path);
                }
                Found::Other(stamp, what) => {
                    self.index_changed = true;
                    if !trusted {
                        self.notes.push(format!("{path} is {what} and was not followed"));
                        self.changed.push(Change {
                            path: path.clone(),
                            skipped: Some((*what).to_owned()),
                            ..Change::default()
                        });
                    }
                    self.index.files.insert(path.clone(), Seen::new(stamp, None, false));
                }
            }
        }
        if left > 0 {
            let what =
                format!("there was no time for {left} files of {}; the next call goes on", subject.name());
            let told = if self.call.durable { &mut self.problems } else { &mut self.notes };
            told.push(what);
        }
    }

    fn keep_file(&mut self, client: &Path, path: &str) {
        let is_config = path.ends_with("/config.json");
        let read = match self.config.take_if(|_| is_config) {
            Some(config) => Ok(config),
            None => self.read(client, path),
        };
        match read {
            Ok(Content { bytes, stamp, torn, read_at }) => {
                // A store that refuses says nothing about the file: it is tried again at the next look.
                let before = self.index.files.get(path);
                let care = match (self.call.durable, before.is_some_and(|seen| seen.synced)) {
                    (false, _) => Care::Usual,
                    (true, true) if before.is_some_and(|seen| seen.matches(&stamp)) => Care::Compared,
                    (true, _) => Care::Durable,
                };
                let bytes = match self.archive.veiled {
                    true => veil::file(path, &bytes),
                    false => Cow::Borrowed(bytes.as_slice()),
                };
                let object = match self.archive.objects.put(&bytes, care) {
                    Ok(object) => object,
                    Err(error) => return self.problems.push(format!("cannot keep {path}: {error}")),
                };
                let new = self.known(path) != Some(object.as_str());
                if new {
                    self.changed.push(Change {
                        path: path.to_owned(),
                        object: Some(object.clone()),
                        size: stamp.size,
                        torn,
                        skipped: None,
                    });
                }
                if torn && new {
                    self.notes
                        .push(format!("{path} was no whole JSON when it was read; it is kept as it was"));
                }
                // What is torn is tried again by the next look, and then believed.
                let fresh = read_at.saturating_sub(stamp.changed) < FRESH || (torn && new);
                let synced = care != Care::Usual;
                self.index
                    .files
                    .insert(path.to_owned(), Seen { synced, ..Seen::new(&stamp, Some(object), fresh) });
                self.index_changed = true;
            }
            // It went while we looked: what it said last was kept, or it was never there at a call's moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.index.files.remove(path).is_some() || self.known(path).is_some() {
                    self.gone.push(path.to_owned());
                }
            }
            Err(error) => self.skip(path, &error),
        }
    }

    /// Notes that a file is there that could not be read. It is tried again when its stamp changes, and at the next
    /// look where the disk was what failed.
    fn skip(&mut self, path: &str, error: &io::Error) {
        let bound = match error.kind() {
            io::ErrorKind::FileTooLarge => "; `largest-file` under [archive] sets this",
            _ => "",
        };
        self.problems.push(format!("cannot keep {path}: {error}{bound}"));
        let Some(found) = self.scan.found.get(path) else { return };
        if matches!(
            error.kind(),
            io::ErrorKind::PermissionDenied | io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidInput
        ) {
            let skipped = Some(error.to_string());
            let known = self.index.files.insert(path.to_owned(), Seen::new(found.stamp(), None, false));
            self.index_changed = true;
            if known.is_none_or(|seen| seen.object.is_some() || !seen.matches(found.stamp())) {
                self.changed.push(Change {
                    path: path.to_owned(),
                    size: found.stamp().size,
                    skipped,
                    ..Change::default()
                });
            }
        }
    }

    /// A directory that could not be looked at has lost nothing yet.
    pub(super) fn note_gone(&mut self, subject: &Subject) {
        if self.scan.problems.is_empty() {
            let scan = self.scan;
            let gone = self.index.files.extract_if(.., |path, _| !scan.found.contains_key(path));
            self.gone.extend(gone.map(|(path, _)| path));
            let roots = [format!("teams/{}/", subject.name()), format!("tasks/{}/", subject.name())];
            let told: HashSet<&String> = self.gone.iter().collect();
            let there = self.on_record.iter().flatten().filter(|(path, state)| {
                state.gone_at.is_none()
                    && roots.iter().any(|root| path.starts_with(root))
                    && !scan.found.contains_key(*path)
                    && !told.contains(path)
            });
            let gone: Vec<String> = there.map(|(path, _)| path.clone()).collect();
            self.gone.extend(gone);
        }
        if self.index.present != self.scan.team_dir {
            self.index.present = self.scan.team_dir;
            self.index_changed = true;
        }
    }

    /// The manifest; `None` when nothing changed.
    pub(super) fn snapshot(&mut self, locked: bool) -> Option<Snapshot> {
        let team_dir =
            (self.was_present.unwrap_or(false) != self.scan.team_dir).then_some(self.scan.team_dir);
        if self.changed.is_empty() && self.gone.is_empty() && team_dir.is_none() {
            return None;
        }
        // Looks are ordered by the lock; a call that waited for it, or a clock that went back, must not reorder them.
        let at = clock::stamp(self.call.at);
        if at > self.index.at {
            self.index.at = at;
        } else if !locked {
            // The index knows only of lines that were written under the lock: this one is later than they.
            let last = clock::parse(&self.index.at).unwrap_or(self.call.at);
            self.index.at = clock::stamp(last + TimeDelta::milliseconds(1));
        }
        Some(Snapshot {
            v: 1,
            at: self.index.at.clone(),
            event: self.call.event.to_string(),
            changed: std::mem::take(&mut self.changed),
            gone: std::mem::take(&mut self.gone),
            team_dir,
        })
    }

    /// The run's record, new or brought up to date.
    pub(super) fn record(&self, subject: &Subject, known: Option<RunRecord>) -> RunRecord {
        let mut record = known.unwrap_or_else(|| RunRecord {
            v: 1,
            run: self.index.run.clone(),
            team: subject.team().map(ToString::to_string),
            ..RunRecord::default()
        });
        if record.started_at.is_empty() {
            record.started_at = clock::stamp(self.call.at);
        }
        record.veiled |= self.archive.veiled;
        record.continues = record.continues.or_else(|| self.continues.clone());
        record.lead_session = self.index.lead_session.clone().or(record.lead_session);
        record.created_at =
            self.index.created_at.and_then(clock::from_millis).map(clock::stamp).or(record.created_at);
        record.client_pid = self.index.lead_pid.or(record.client_pid);
        record
    }
}

/// What a file said.
struct Content {
    bytes: Vec<u8>,
    stamp: Stamp,
    /// Whether it was no whole JSON, or was written while it was read.
    torn: bool,
    /// The clock for files, before it was read.
    read_at: i64,
}

impl Look<'_> {
    /// Reads a file, again where it is no whole JSON, as long as the look has pauses left. What is empty, or was as
    /// torn at the last look, is not waited for.
    fn read(&mut self, client: &Path, path: &str) -> io::Result<Content> {
        let json = path.ends_with(".json");
        let mut pauses = PAUSES.iter();
        loop {
            let read_at = clock::file_time();
            let read = fs::read_steady(&client.join(path), self.archive.largest)?;
            let cut = json && serde_json::from_slice::<serde::de::IgnoredAny>(&read.bytes).is_err();
            let stamp = Stamp::of(&read.metadata);
            let known = self.index.files.get(path).is_some_and(|seen| seen.matches(&stamp));
            let pause = pauses.next().filter(|pause| **pause <= self.pauses);
            match pause.filter(|_| cut && !known && !read.bytes.is_empty()) {
                Some(pause) => {
                    self.pauses -= *pause;
                    std::thread::sleep(*pause);
                }
                None => return Ok(Content { bytes: read.bytes, stamp, torn: cut || !read.steady, read_at }),
            }
        }
    }
}
