//! The description of a run, with its sessions and its end: `runs/<run>/run.json`; and what identifies a run.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use teamkeep_model::ProcessId;
use teamkeep_model::event::{LEAD, SafeName};
use teamkeep_model::time::Timestamp;
use teamkeep_system::fs::{self, JsonDocument};
use teamkeep_system::process;

/// One run of a team, or of a session without a team.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// Format version: 1.
    pub v: u8,
    /// See [`run_id`].
    pub run: String,
    /// The team, by its directory's name; `None` for a session without one.
    pub team: Option<String>,
    /// The team's name, if it differs from the directory's (before 2.1.178).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    pub lead_session: Option<String>,
    /// When Claude Code created the team; `None` if unknown.
    pub created_at: Option<Timestamp>,
    /// The first hook call of the run.
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub ended_by: Option<EndedBy>,
    /// Claude Code's reason for the end (`prompt_input_exit`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_reason: Option<String>,
    /// The run that this one resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_pid: Option<u32>,
    /// The configuration directory of Claude Code with its files; `None` for the usual one of whoever reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<ConfigDir>,
    /// Whether another configuration directory had a team of this name first. See [`CaptureScope::TeamIn`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shares_name: bool,
    pub sessions: Vec<SessionRecord>,
    /// Whether transcripts were archived after the end.
    pub finished: bool,
    /// Whether metadata-only mode was on. If so, the transcripts are not used either, even where they still exist.
    #[serde(rename = "veiled", skip_serializing_if = "std::ops::Not::not")]
    pub metadata_only: bool,
    /// Data of an imported run. Its events are in `events-imported.jsonl` beside this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

impl JsonDocument for RunRecord {}

/// Data of an imported run that its description did not have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Imported {
    pub at: Timestamp,
    /// The beginning of its part of the sessions' transcripts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// The end of that part, where another run of these sessions began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Number of redacted texts by rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<BTreeMap<String, u64>>,
}

/// A session's part in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    pub id: String,
    pub role: SessionRole,
    /// The teammate's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The transcript's path, from a hook payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The process of a split pane, which can be gone while the team runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessId>,
    /// When that process was first seen to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

impl SessionRecord {
    pub fn new(id: String, role: SessionRole) -> SessionRecord {
        SessionRecord { id, role, name: None, transcript: None, process: None, gone_at: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionRole {
    /// The lead's, from the start or after `/clear`.
    Lead,
    /// A split-pane teammate's.
    Pane,
}

teamkeep_model::named_enum! {
    /// The reason of a run's end, weakest evidence first.
    pub enum EndedBy {
        /// The directory disappeared without a hook call that explains it.
        Disappeared = "disappeared",
        /// The lead's process ended without SessionEnd.
        Crashed = "crashed",
        /// A new run took the team's name.
        Replaced = "replaced",
        SessionEnd = "session-end",
        TeamDelete = "team-delete",
    }
}

impl RunRecord {
    /// The lead's name: a session without a team has no `team-lead`.
    pub fn lead(&self) -> &'static str {
        if self.team.is_some() { LEAD } else { "lead" }
    }

    /// Closes the run, unless stronger evidence already did. Returns whether anything changed.
    pub fn end(&mut self, by: EndedBy, reason: Option<&str>, at: Timestamp) -> bool {
        if self.ended_by.is_some_and(|known| known >= by) {
            return false;
        }
        self.ended_at.get_or_insert(at);
        self.ended_by = Some(by);
        self.ended_reason = reason.map(str::to_owned).or(self.ended_reason.take());
        true
    }

    pub fn reopen(&mut self) {
        (self.ended_at, self.ended_by, self.ended_reason, self.finished) = (None, None, None, false);
    }

    /// Whether this session is or was the lead's.
    pub fn is_led_by(&self, session: &str) -> bool {
        self.lead_session.as_deref() == Some(session)
            || self.session(session).is_some_and(|session| session.role == SessionRole::Lead)
    }

    fn session(&self, id: &str) -> Option<&SessionRecord> {
        self.sessions.iter().find(|session| session.id == id)
    }

    pub fn process_of_pane(&self, session: &str) -> Option<&ProcessId> {
        self.session(session)?.process.as_ref()
    }

    /// Records which panes' processes are gone. Returns whether anything changed.
    pub fn note_gone_panes(&mut self, at: Timestamp) -> bool {
        let is_gone = |session: &&mut SessionRecord| {
            session.gone_at.is_none() && session.process.as_ref().is_some_and(process::is_over)
        };
        let gone = self.sessions.iter_mut().filter(is_gone);
        gone.map(|session| session.gone_at = Some(at)).count() > 0
    }

    /// Whether a teammate of this name had a split pane, and therefore its own session.
    pub fn has_pane(&self, name: &str) -> bool {
        let mut panes = self.sessions.iter().filter(|session| session.role == SessionRole::Pane);
        panes.any(|session| session.name.as_deref() == Some(name))
    }

    /// The team's name; `None` for a session without one.
    pub fn name(&self) -> Option<&str> {
        self.called.as_deref().or(self.team.as_deref())
    }

    pub fn subject(&self) -> Option<CaptureScope> {
        match &self.team {
            Some(team) => {
                let (team, dir) = (SafeName::new(team)?, self.config_dir.as_ref());
                match dir.filter(|_| self.shares_name) {
                    Some(dir) => CaptureScope::team_in(team, &dir.path),
                    None => Some(CaptureScope::Team(team)),
                }
            }
            None => self.lead_session.as_deref().and_then(SafeName::new).map(CaptureScope::Session),
        }
    }

    /// Claude Code's configuration directory with the files of the run, or else this one: on another machine, an imported
    /// run has none.
    pub fn client_dir(&self, usual: Option<&Path>) -> Option<PathBuf> {
        let own = self.config_dir.as_ref().filter(|_| self.imported.is_none());
        own.map(|own| PathBuf::from(&own.path)).or_else(|| usual.map(Path::to_path_buf))
    }

    /// Whether the result of archiving transcripts was recorded, even if there were none.
    pub fn has_transcripts(&self) -> bool {
        let named = self.sessions.iter().any(|session| session.transcript.is_some());
        self.finished && !self.metadata_only && named
    }

    /// Whether no session ever took part in the run. When Claude Code resumes a session, it first creates a team for a
    /// new session, and never uses it (2.1.328).
    pub fn is_stray(&self) -> bool {
        self.team.is_some() && self.sessions.is_empty() && self.ended_at.is_some()
    }

    /// A problem in the description.
    pub fn flaw(&self) -> Option<String> {
        let times = [Some(self.started_at), self.created_at, self.ended_at];
        let is_flawed = times.into_iter().flatten().any(|time| !time.is_valid());
        is_flawed.then(|| "invalid time".to_owned())
    }

    /// The order of runs: the oldest first.
    pub fn in_order(&self, other: &RunRecord) -> Ordering {
        (self.started_at, &self.run).cmp(&(other.started_at, &other.run))
    }

    /// Adds a session. Returns whether this changed anything.
    pub fn join(&mut self, session: SessionRecord) -> bool {
        let Some(known) = self.sessions.iter_mut().find(|known| known.id == session.id) else {
            self.sessions.push(session);
            return true;
        };
        let before = known.clone();
        known.role = session.role;
        known.name = session.name.or(known.name.take());
        known.transcript = session.transcript.or(known.transcript.take());
        if session.process.is_some() {
            (known.process, known.gone_at) = (session.process, None);
        }
        *known != before
    }
}

/// A unit of capturing: a team, or the task list of a session without a team.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaptureScope {
    /// A team, by its directory's name.
    Team(SafeName),
    /// A team whose name a team in another configuration directory had first, by name and ID of its own directory.
    TeamIn(SafeName, SafeName),
    Session(SafeName),
}

/// Prefix of file names that have the hash of a key.
pub(super) const LONG_NAME_PREFIX: &str = "long-";

impl CaptureScope {
    /// A team in the configuration directory with this canonical path.
    pub(super) fn team_in(team: SafeName, canonical: &str) -> Option<CaptureScope> {
        id_of(canonical).map(|dir| CaptureScope::TeamIn(team, dir))
    }

    /// The team's name.
    pub fn team(&self) -> Option<&SafeName> {
        match self {
            CaptureScope::Team(name) | CaptureScope::TeamIn(name, _) => Some(name),
            CaptureScope::Session(_) => None,
        }
    }

    /// The name of its directory below `teams/` and `tasks/`.
    pub fn name(&self) -> &SafeName {
        match self {
            CaptureScope::Team(name) | CaptureScope::TeamIn(name, _) | CaptureScope::Session(name) => name,
        }
    }

    /// The file name without the suffix: the key, or a hash of a key that is too long.
    pub(super) fn stem(&self) -> String {
        match self.name().is_stem() {
            true => self.key(),
            false => format!("{LONG_NAME_PREFIX}{}", &blake3::hash(self.key().as_bytes()).to_hex()[..32]),
        }
    }

    /// The kind and the name.
    pub(super) fn key(&self) -> String {
        match self {
            CaptureScope::Team(name) => format!("team-{name}"),
            CaptureScope::TeamIn(name, dir) => format!("team@{dir}-{name}"),
            CaptureScope::Session(name) => format!("session-{name}"),
        }
    }

    pub(super) fn from_key(key: &str) -> Option<CaptureScope> {
        match key.split_once('-')? {
            ("team", name) => SafeName::new(name).map(CaptureScope::Team),
            ("session", name) => SafeName::new(name).map(CaptureScope::Session),
            (kind, name) => {
                let dir = SafeName::new(kind.strip_prefix("team@")?)?;
                SafeName::new(name).map(|name| CaptureScope::TeamIn(name, dir))
            }
        }
    }
}

/// The id of a run, 16 hexadecimal digits: a hash of name, `createdAt` and lead session, or of the session only.
pub(crate) fn run_id(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Whether a text can be the ID of a run.
pub fn is_run_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

// The configuration directory of Claude Code in which a run has its files. Several can share one store: another
// `CLAUDE_CONFIG_DIR`, another `HOME`, a container.

/// A configuration directory, as recorded with a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigDir {
    /// The canonical path.
    pub path: String,
    /// The path that the hook call had, if it is another one: a symlink. With it, most calls compare only texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spelled: Option<String>,
}

impl ConfigDir {
    /// The directory at this path; `None` if it does not exist.
    pub fn find(path: &Path) -> Option<ConfigDir> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let canonical = fs::canonicalize(path).ok()?;
        let spelled = (canonical != path).then(|| text(path));
        Some(ConfigDir { path: text(&canonical), spelled })
    }

    /// Whether this path leads to the directory. Makes system calls only for a spelling that was not recorded. A path that
    /// does not exist here leads to no directory.
    pub fn is_at(&self, path: &Path) -> bool {
        let is_known = |known: &str| Path::new(known) == path;
        is_known(&self.path)
            || self.spelled.as_deref().is_some_and(is_known)
            || fs::canonicalize(path).is_ok_and(|canonical| canonical.to_string_lossy() == self.path.as_str())
    }
}

/// The ID of a directory in the names of files, 16 hexadecimal digits.
pub(super) fn id_of(canonical: &str) -> Option<SafeName> {
    SafeName::new(&blake3::hash(canonical.as_bytes()).to_hex()[..16])
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_the_same_by_each_spelling_and_another_one_without_it() {
        let dir = tempfile::tempdir().unwrap();
        let (work, link) = (dir.path().join("work"), dir.path().join("link"));
        std::fs::create_dir_all(work.join("teams")).unwrap();
        std::os::unix::fs::symlink(&work, &link).unwrap();
        for first in [&work, &link] {
            let found = ConfigDir::find(first).unwrap();
            assert_eq!(found.spelled.is_some(), first == &link);
            for spelling in [&work, &link, &work.join(""), &work.join("teams/.."), &link.join(".")] {
                assert!(found.is_at(spelling), "{spelling:?}");
            }
            for other in [dir.path(), &work.join("teams"), &dir.path().join("missing"), Path::new("")] {
                assert!(!found.is_at(other), "{other:?}");
            }
        }
        assert_eq!(ConfigDir::find(&dir.path().join("missing")), None);
    }
}
