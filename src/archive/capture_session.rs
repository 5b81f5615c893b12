//! A capture in progress: identifies the run, finds deleted files, and prepares the manifest.

mod read_content;
mod store_files;
mod write_content;

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use chrono::TimeDelta;

use super::capture::CaptureRequest;
use super::file_tree::FileTree;
use super::index::{CapturedFile, Index};
use super::pack::{Bulk, StoredContents};
use super::run::{RunRecord, run_id};
use super::scan::{Scan, ScannedEntry};
use super::snapshot::{Change, Snapshot};
use super::store::{Archive, CaptureScope};
use crate::clock;
use crate::event::SafeName;
use crate::model::Note;
use crate::team::TeamConfig;

use read_content::{ALL_PAUSES, FileContent};

/// A capture in progress.
pub(super) struct CaptureSession<'a> {
    pub archive: &'a Archive,
    pub scan: &'a Scan,
    pub call: &'a CaptureRequest<'a>,
    pub index: Index,
    /// The run that had the name before.
    pub replaced: Option<String>,
    continues: Option<String>,
    config: Option<FileContent>,
    /// The state according to the journal, if the index is not sufficient.
    on_record: Option<FileTree>,
    pauses: Duration,
    news: usize,
    /// Whether the run's lock is held.
    pub locked: bool,
    /// Whether there are so many files to store that their contents share a data file.
    is_bulk: bool,
    /// These contents.
    bulk: Option<Bulk>,
    /// Contents that the run already stores.
    stored: Option<StoredContents>,
    /// Whether objects were created whose names are not synced yet.
    has_unsynced_names: bool,
    changed: Vec<Change>,
    gone: Vec<String>,
    pub notes: Vec<Note>,
    /// Number of files that were not read in time.
    pub left: usize,
    pub run_changed: bool,
    pub index_changed: bool,
    pub disappeared: bool,
    pub was_present: Option<bool>,
}

impl<'a> CaptureSession<'a> {
    pub(super) fn new(
        archive: &'a Archive,
        known: Option<Index>,
        scan: &'a Scan,
        call: &'a CaptureRequest<'a>,
    ) -> CaptureSession<'a> {
        let was_present = known.as_ref().map(|index| index.present);
        CaptureSession {
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
            locked: false,
            is_bulk: false,
            bulk: None,
            stored: None,
            has_unsynced_names: false,
            changed: Vec::new(),
            gone: Vec::new(),
            notes: scan.problems.clone(),
            left: 0,
            run_changed: false,
            index_changed: false,
            was_present,
        }
    }

    /// Identifies the run: another `createdAt` or lead session under the same name is another run.
    pub(super) fn resolve_run(&mut self, subject: &CaptureScope, client: &Path) {
        let team = match subject {
            CaptureScope::Team(team) => team,
            CaptureScope::Session(session) => {
                if self.index.run.is_empty() {
                    self.begin(subject, run_id(&["session", session.as_str()]));
                }
                return;
            }
        };
        let path = format!("teams/{team}/config.json");
        let changed = match (self.scan.found.get(&path), self.index.files.get(&path)) {
            (Some(ScannedEntry::File(stamp)), Some(seen)) => seen.fresh || !seen.matches(stamp),
            (Some(ScannedEntry::File(_)), None) => true,
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
        if let Some(name) = &config.name {
            let is_new = self.index.learn_spelling(name, team.as_str());
            self.index_changed |= is_new;
            self.run_changed |= is_new;
        }
        self.run_changed |= before != (self.index.created_at, self.index.lead_session.clone());
    }

    fn begin(&mut self, subject: &CaptureScope, run: String) {
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

    /// Reads the journal if the index, which is a cache of it, is not sufficient: before a TeamDelete the journal
    /// itself must be complete, and a journal written without the lock may contain an older state.
    pub(super) fn reconcile(&mut self, locked: bool) {
        let alone = self.archive.lines_without_lock(&self.index.run);
        let missing = if locked { self.archive.missing(&self.index) } else { 0 };
        let unseen = locked && (alone != self.index.alone || missing != 0);
        if !unseen && !self.call.durable {
            return;
        }
        let journal = self.archive.journal(&self.index.run);
        if let Some(last) = journal.snapshots.last()
            && last.at > self.index.at
        {
            self.index.at.clone_from(&last.at);
        }
        if missing > 0 {
            let run = &self.index.run;
            self.notes.push(Note::problem(format!(
                "the journal of run {run} lost {missing} bytes; storing the existing files again"
            )));
            let told = journal.snapshots.iter().rev().find_map(|snapshot| snapshot.team_dir);
            self.was_present = Some(told.unwrap_or(false));
        }
        if locked {
            self.index.alone = alone;
            self.index_changed |= unseen;
        }
        self.on_record = Some(journal.last());
    }

    /// The recorded content of a file, which the index has as `seen`.
    fn known<'b>(&'b self, path: &str, seen: Option<&'b CapturedFile>) -> Option<&'b str> {
        match &self.on_record {
            Some(held) => held.get(path).filter(|state| state.gone_at.is_none())?.object.as_deref(),
            None => seen?.object.as_deref(),
        }
    }

    /// A directory that could not be read does not count as deleted.
    pub(super) fn note_gone(&mut self, subject: &CaptureScope) {
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

    /// The manifest; `None` if nothing changed.
    pub(super) fn snapshot(&mut self, locked: bool) -> Option<Snapshot> {
        let team_dir =
            (self.was_present.unwrap_or(false) != self.scan.team_dir).then_some(self.scan.team_dir);
        if self.changed.is_empty() && self.gone.is_empty() && team_dir.is_none() {
            return None;
        }
        // Captures are ordered by the lock. A call that waited for it, or a clock that was set back, must not change
        // the order.
        let at = clock::stamp(self.call.at);
        if at > self.index.at {
            self.index.at = at;
        } else if !locked {
            // The index includes only lines that were written under the lock, so this line is later than those.
            let last = clock::parse(&self.index.at).unwrap_or(self.call.at);
            self.index.at = clock::stamp(last + TimeDelta::milliseconds(1));
        }
        Some(Snapshot {
            v: 2,
            at: self.index.at.clone(),
            event: self.call.event.to_string(),
            changed: std::mem::take(&mut self.changed),
            gone: std::mem::take(&mut self.gone),
            team_dir,
        })
    }

    /// The run's description, new or updated.
    pub(super) fn record(&self, subject: &CaptureScope, known: Option<RunRecord>) -> RunRecord {
        let mut record = known.unwrap_or_else(|| RunRecord {
            v: 1,
            run: self.index.run.clone(),
            team: subject.team().map(ToString::to_string),
            ..RunRecord::default()
        });
        if record.started_at.is_empty() {
            record.started_at = clock::stamp(self.call.at);
        }
        record.metadata_only |= self.archive.metadata_only;
        record.continues = record.continues.or_else(|| self.continues.clone());
        record.lead_session = self.index.lead_session.clone().or(record.lead_session);
        record.created_at =
            self.index.created_at.and_then(clock::from_millis).map(clock::stamp).or(record.created_at);
        record.client_pid = self.index.lead_pid.or(record.client_pid);
        record.called = self.index.called.clone().or(record.called);
        record
    }
}
