//! The description of a run, with its sessions and its end: `runs/<run>/run.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::{self, Time};
use crate::fs::Document;

/// One run of a team, or of a session without a team.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// Format version: 1.
    pub v: u8,
    /// 16 hexadecimal digits: the hash of name, `createdAt` and lead session.
    pub run: String,
    /// The team, by its directory's name; `None` for a session without one.
    pub team: Option<String>,
    /// The team's name, if it differs from the directory's (before 2.1.178).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// The session that leads it.
    pub lead_session: Option<String>,
    /// When Claude Code created the team, RFC 3339; `None` if unknown.
    pub created_at: Option<String>,
    /// The first hook call of the run, RFC 3339.
    pub started_at: String,
    /// When it ended, RFC 3339.
    pub ended_at: Option<String>,
    /// The reason for the end.
    pub ended_by: Option<EndedBy>,
    /// Claude Code's reason for the end (`prompt_input_exit`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_reason: Option<String>,
    /// The run that this one resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Claude Code's process id, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_pid: Option<u32>,
    /// The sessions that took part.
    pub sessions: Vec<SessionRecord>,
    /// Whether transcripts were archived after the end.
    pub finished: bool,
    /// Whether metadata-only mode was on. If so, the transcripts are not used either, even where they still exist.
    #[serde(rename = "veiled", skip_serializing_if = "std::ops::Not::not")]
    pub metadata_only: bool,
    /// Data of an imported run. Its events are in `events.jsonl` beside this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

impl Document for RunRecord {
    const MAX_BYTES: u64 = 1 << 28;
}

/// Data of an imported run that its description did not have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Imported {
    /// When it was imported, RFC 3339.
    pub at: String,
    /// The beginning of its part of the sessions' transcripts, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The end of that part, where another run of these sessions began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Number of redacted texts by rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<BTreeMap<String, u64>>,
}

/// A session's part in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The session's id.
    pub id: String,
    /// Whether it led the team or was a split-pane teammate's.
    pub role: SessionRole,
    /// The teammate's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The transcript's path, from a hook payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

/// The role of a session in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionRole {
    /// The lead's, from the start or after `/clear`.
    Lead,
    /// A split-pane teammate's.
    Pane,
}

/// The reason of a run's end, weakest evidence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// The directory disappeared without a hook call that explains it.
    Disappeared,
    /// The lead's process ended without SessionEnd.
    Crashed,
    /// A new run took the team's name.
    Replaced,
    /// The lead's session ended.
    SessionEnd,
    /// TeamDelete ran.
    TeamDelete,
}

impl EndedBy {
    /// All reasons.
    pub const ALL: &[EndedBy] = &[
        EndedBy::Disappeared,
        EndedBy::Crashed,
        EndedBy::Replaced,
        EndedBy::SessionEnd,
        EndedBy::TeamDelete,
    ];
}

impl RunRecord {
    /// Closes the run, unless stronger evidence already did. Returns whether anything changed.
    pub fn end(&mut self, by: EndedBy, reason: Option<&str>, at: Time) -> bool {
        if self.ended_by.is_some_and(|known| known >= by) {
            return false;
        }
        self.ended_at.get_or_insert_with(|| clock::stamp(at));
        self.ended_by = Some(by);
        self.ended_reason = reason.map(str::to_owned).or(self.ended_reason.take());
        true
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

    /// Reopens the run.
    pub fn reopen(&mut self) {
        self.ended_at = None;
        self.ended_by = None;
        self.ended_reason = None;
        self.finished = false;
    }

    /// Whether the result of archiving transcripts was recorded, even if there were none.
    pub fn has_transcripts(&self) -> bool {
        let named = self.sessions.iter().any(|session| session.transcript.is_some());
        self.finished && !self.metadata_only && named
    }

    /// Whether a capture was ever recorded. Before that, a team has no run with sessions.
    pub fn has_journal(&self) -> bool {
        self.team.is_some() && (!self.sessions.is_empty() || self.ended_at.is_some())
    }

    /// A problem in the description.
    pub fn flaw(&self) -> Option<String> {
        let times = [Some(&self.started_at), self.created_at.as_ref(), self.ended_at.as_ref()];
        let bad = times.into_iter().flatten().find(|time| clock::parse(time).is_none());
        bad.map(|time| format!("invalid time {time:?}"))
    }

    /// Whether no session ever took part in the run. When Claude Code resumes a session, it first creates a team for a
    /// new session, and never uses it (2.1.328).
    pub fn is_stray(&self) -> bool {
        self.team.is_some() && self.sessions.is_empty() && self.ended_at.is_some()
    }

    /// Adds a session. Returns whether this changed anything.
    pub fn join(&mut self, session: SessionRecord) -> bool {
        match self.sessions.iter_mut().find(|known| known.id == session.id) {
            Some(known) => {
                let before = known.clone();
                known.role = session.role;
                known.name = session.name.or(known.name.take());
                known.transcript = session.transcript.or(known.transcript.take());
                *known != before
            }
            None => {
                self.sessions.push(session);
                true
            }
        }
    }
}

/// The id of a run: a hash of name, `createdAt` and lead session, or of the session only.
pub fn run_id(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
