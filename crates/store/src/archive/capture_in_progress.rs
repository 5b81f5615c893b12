//! A capture in progress: identifies the run, finds deleted files, and writes the manifest.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use chrono::TimeDelta;

use super::contents::ContentWriter;
use super::directory::Archive;
use super::index::{CapturedFile, Index};
use super::journal::{Change, FileState, FileTree, Snapshot};
use super::run::{CaptureScope, ConfigDir, EndedBy, run_id};
use super::run_lock::LockedSubject;
use super::scan::{Scan, ScannedEntry};
use teamkeep_model::Note;
use teamkeep_model::event::{Id, SafeName};
use teamkeep_model::team::{Flaw, TeamConfig, is_of};
use teamkeep_model::time::Timestamp;
use teamkeep_system::fs::Stamp;

/// The hook call that captures.
#[derive(Debug, Clone, Copy)]
pub struct CaptureRequest<'a> {
    /// When the call began.
    pub at: Timestamp,
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

/// The files to capture, and the call that captures them.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub archive: &'a Archive,
    pub subject: &'a CaptureScope,
    /// Claude Code's directory.
    pub client: &'a Path,
    pub call: &'a CaptureRequest<'a>,
    /// Without it, the manifest goes to a separate journal.
    pub lock: Option<&'a LockedSubject<'a>>,
}

/// Maximum total pause in one capture: other processes wait for its lock, and Claude Code waits for the hook.
const MAX_TOTAL_PAUSE: Duration = Duration::from_millis(15);

/// The content of a file that may be half-written.
pub(super) struct FileContent {
    pub bytes: Vec<u8>,
    pub stamp: Stamp,
    pub flaw: Option<Flaw>,
    /// Whether it was not complete JSON, or changed while it was read.
    pub torn: bool,
    /// The file system's clock before the file was read.
    pub read_at: i64,
}

pub(super) struct CaptureInProgress<'a> {
    pub target: Target<'a>,
    pub scan: &'a Scan,
    pub index: Index,
    /// The run that had the name before.
    pub replaced: Option<ReplacedRun>,
    pub continues: Option<String>,
    pub config: Option<FileContent>,
    /// The state according to the journal, if the index is not sufficient.
    recorded: Option<FileTree>,
    /// The time left for pauses.
    pub pauses: Duration,
    /// How many new and changed files were read.
    pub new_files: usize,
    pub contents: Option<ContentWriter>,
    pub changed: Vec<Change>,
    pub gone: Vec<String>,
    pub notes: Vec<Note>,
    /// Number of files that were not read in time.
    pub unarchived: usize,
    pub run_changed: bool,
    pub index_changed: bool,
    pub disappeared: bool,
    /// Why the descriptions of the runs could not be written.
    pub undescribed: Option<std::io::Error>,
    was_present: Option<bool>,
}

/// A run whose team has been replaced by another one with its name.
#[derive(Debug)]
pub(super) struct ReplacedRun {
    pub run: String,
    pub by: EndedBy,
}

impl From<Index> for ReplacedRun {
    /// The end of the run with this index. A session that is resumed after a crash creates its team again.
    fn from(index: Index) -> ReplacedRun {
        let by = if index.is_client_gone() { EndedBy::Crashed } else { EndedBy::Replaced };
        ReplacedRun { run: index.run, by }
    }
}

impl<'a> CaptureInProgress<'a> {
    pub(super) fn new(target: Target<'a>, known: Option<Index>, scan: &'a Scan) -> CaptureInProgress<'a> {
        let was_present = known.as_ref().map(|index| index.present);
        CaptureInProgress {
            target,
            scan,
            disappeared: was_present == Some(true) && !scan.team_dir,
            index: known.unwrap_or_default(),
            replaced: None,
            continues: None,
            config: None,
            recorded: None,
            pauses: MAX_TOTAL_PAUSE,
            new_files: 0,
            contents: None,
            changed: Vec::new(),
            gone: Vec::new(),
            notes: scan.problems.clone(),
            unarchived: 0,
            run_changed: false,
            index_changed: false,
            undescribed: None,
            was_present,
        }
    }

    /// Identifies the run: another `createdAt` or lead session under the same name is another run.
    pub(crate) fn resolve_run(&mut self) {
        self.identify_run();
        let is_here =
            self.scan.team_dir || !self.scan.found.is_empty() || self.target.subject.team().is_none();
        if self.index.config_dir.is_none()
            && is_here
            && let Some(dir) = ConfigDir::find(self.target.client)
        {
            self.index.config_dir = Some(dir);
            (self.run_changed, self.index_changed) = (true, true);
        }
    }

    fn identify_run(&mut self) {
        let subject = self.target.subject;
        let Some(team) = subject.team() else {
            if self.index.run.is_empty() {
                self.begin(run_id(&["session", subject.name().as_str()]));
            }
            return;
        };
        let path = format!("teams/{team}/config.json");
        let is_changed = match self.scan.found.get(&path) {
            Some(ScannedEntry::File(stamp)) => {
                self.index.files.get(&path).is_none_or(|seen| seen.fresh || !seen.matches(stamp))
            }
            _ => false,
        };
        self.config = is_changed.then(|| self.read(&path).ok()).flatten();
        let whole = self.config.as_ref().filter(|content| !content.torn);
        let config = whole.and_then(|content| TeamConfig::parse(&content.bytes)).unwrap_or_default();
        if self.index.run.is_empty() {
            self.begin(self.id_of(team, &config));
        } else if self.index.is_other_run(&config) {
            let old = std::mem::take(&mut self.index);
            if old.lead_session.is_some() && old.lead_session == config.lead_session {
                self.continues = Some(old.run.clone());
            }
            self.replaced = (!old.ended).then(|| old.into());
            (self.was_present, self.disappeared) = (None, false);
            self.begin(self.id_of(team, &config));
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

    fn begin(&mut self, run: String) {
        (self.index.v, self.index.run) = (Index::VERSION, run);
        (self.run_changed, self.index_changed) = (true, true);
        self.continue_journal();
    }

    fn id_of(&self, team: &SafeName, config: &TeamConfig) -> String {
        match (config.created_at, &config.lead_session) {
            (None, None) => run_id(&["unknown", team.as_str(), &self.target.call.at.to_string()]),
            (created, lead) => {
                let created = created.map(|millis| millis.to_string()).unwrap_or_default();
                run_id(&["team", team.as_str(), &created, lead.as_deref().unwrap_or_default()])
            }
        }
    }

    /// Continues an existing journal whose index was lost, so that files deleted in the meantime are recorded as
    /// deleted.
    fn continue_journal(&mut self) {
        let archive = self.target.archive;
        let journal = archive.journal(&self.index.run);
        let Some(last) = journal.snapshots.last() else { return };
        self.index.at = last.at;
        self.index.present = journal.team_dir().unwrap_or(false);
        self.index.ended = archive.run(&self.index.run).is_some_and(|record| record.ended_at.is_some());
        self.was_present = Some(self.index.present);
        self.disappeared = self.index.present && !self.scan.team_dir;
        let name = self.target.subject.name().as_str();
        for (path, state) in journal.last() {
            let (root, rest) = path.split_once('/').unwrap_or_default();
            let other = rest.split_once('/').map(|(dir, _)| dir).filter(|dir| *dir != name);
            if let Some(list) = other.filter(|_| root == "tasks") {
                // This capture did not include the directory; the next one does.
                if !self.index.more_tasks.iter().any(|known| known == list) {
                    self.index.more_tasks.push(list.to_owned());
                }
            } else if let Some(dir) = other.filter(|_| root == "teams") {
                // Inboxes under the name of a task list are captured again when a session names the list again.
                if is_of(dir, name) {
                    self.index.mail_dir = Some(dir.to_owned());
                }
            } else if state.gone_at.is_none() {
                // Without a stamp, an existing file is read again.
                let FileState { object, whole, .. } = state;
                let seen = CapturedFile { object, whole, fresh: true, ..CapturedFile::default() };
                self.index.files.insert(path, seen);
            }
        }
    }

    /// Reads the journal if the index, which is a cache of it, is not sufficient: before a TeamDelete the journal
    /// itself must be complete, and a journal written without the lock may contain an older state.
    pub(crate) fn reconcile(&mut self) {
        let (archive, is_locked) = (self.target.archive, self.target.lock.is_some());
        let alone = archive.unlocked_journals(&self.index.run);
        let missing = if is_locked { archive.missing(&self.index) } else { 0 };
        let is_stale = is_locked && (alone != self.index.alone || missing != 0);
        if !is_stale && !self.target.call.durable {
            return;
        }
        let journal = archive.journal(&self.index.run);
        if let Some(last) = journal.snapshots.last()
            && last.at > self.index.at
        {
            self.index.at = last.at;
        }
        if missing > 0 {
            let run = &self.index.run;
            self.notes.push(Note::problem(format!(
                "the journal of run {run} lost {missing} bytes; storing the existing files again"
            )));
            self.was_present = Some(journal.team_dir().unwrap_or(false));
        }
        if is_locked {
            self.index.alone = alone;
            self.index_changed |= is_stale;
        }
        self.recorded = Some(journal.last());
    }

    /// The recorded content of a file, which the index has as `seen`.
    pub(crate) fn recorded_object<'b>(
        &'b self,
        path: &str,
        seen: Option<&'b CapturedFile>,
    ) -> Option<&'b str> {
        match &self.recorded {
            Some(tree) => tree.get(path).filter(|state| state.gone_at.is_none())?.object.as_deref(),
            None => seen?.object.as_deref(),
        }
    }

    /// Finds the files that were deleted. A directory that could not be read does not count as deleted.
    pub(crate) fn find_deleted(&mut self) {
        let (scan, name) = (self.scan, self.target.subject.name());
        if scan.problems.is_empty() {
            let gone = self.index.files.extract_if(.., |path, _| !scan.found.contains_key(path));
            self.gone.extend(gone.map(|(path, _)| path));
            let roots = [format!("teams/{name}/"), format!("tasks/{name}/")];
            let known: HashSet<&String> = self.gone.iter().collect();
            let recorded = self.recorded.iter().flatten().filter(|(path, state)| {
                state.gone_at.is_none()
                    && roots.iter().any(|root| path.starts_with(root))
                    && !scan.found.contains_key(*path)
                    && !known.contains(path)
            });
            let more: Vec<String> = recorded.map(|(path, _)| path.clone()).collect();
            self.gone.extend(more);
        }
        if self.index.present != scan.team_dir {
            self.index.present = scan.team_dir;
            self.index_changed = true;
        }
    }

    /// Adds a file that is not below Claude Code's directory. Nothing else of the manifest is known.
    pub(super) fn add(&mut self, change: Change) {
        self.changed.push(change);
        self.was_present = None;
    }

    /// The manifest; `None` if nothing changed.
    pub(super) fn snapshot(&mut self) -> Option<Snapshot> {
        let (call, team_dir) = (self.target.call, self.scan.team_dir);
        let team_dir = (self.was_present.unwrap_or(false) != team_dir).then_some(team_dir);
        if self.changed.is_empty() && self.gone.is_empty() && team_dir.is_none() {
            return None;
        }
        // Captures are ordered by the lock. A call that waited for it, or a clock that was set back, must not change
        // the order.
        let at = call.at;
        if at > self.index.at {
            self.index.at = at;
        } else if self.target.lock.is_none() {
            // The index includes only lines that were written under the lock, so this line is later than those.
            self.index.at = self.index.at + TimeDelta::milliseconds(1);
        }
        Some(Snapshot {
            v: 2,
            at: self.index.at,
            event: call.event.to_string(),
            changed: std::mem::take(&mut self.changed),
            gone: std::mem::take(&mut self.gone),
            team_dir,
        })
    }
}
