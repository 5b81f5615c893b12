//! What a run is, who was in it, and how it ended: `runs/<run>/run.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::{self, Time};

/// One run of a team, or of a session without a team.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// Version of the format: 1.
    pub v: u8,
    /// 16 hexadecimal digits: the hash of name, `createdAt` and lead session.
    pub run: String,
    /// The team, by its directory's name; `None` for a session without one.
    pub team: Option<String>,
    /// What the client calls the team, where its directory is called otherwise (before 2.1.178).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// The session that leads it.
    pub lead_session: Option<String>,
    /// When the client made the team, RFC 3339; `None` where no file said so.
    pub created_at: Option<String>,
    /// The first hook call that saw it, RFC 3339.
    pub started_at: String,
    /// When it ended, RFC 3339.
    pub ended_at: Option<String>,
    /// What ended it.
    pub ended_by: Option<EndedBy>,
    /// The client's own word for it (`prompt_input_exit`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_reason: Option<String>,
    /// The run that this one resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// The client's process, as far as the hooks were told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_pid: Option<u32>,
    /// The sessions that took part.
    pub sessions: Vec<SessionRecord>,
    /// Whether transcripts were put into the archive after the end.
    pub finished: bool,
    /// Whether its texts were kept as sizes and hashes. Its transcripts are not told then, wherever they still are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub veiled: bool,
    /// What came along when it was brought from another record. Its events stand beside it then, in `events.jsonl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// What an imported run's own record does not say, and the record that it came from did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Imported {
    /// When it was brought here, RFC 3339.
    pub at: String,
    /// Its part of its sessions' transcripts: from when, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// And until when: another run of these sessions began then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What was taken out of its texts, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<BTreeMap<String, u64>>,
}

/// A session's part in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The session's id.
    pub id: String,
    /// Whether it led or was a split-pane teammate.
    pub role: SessionRole,
    /// The teammate's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its transcript, as the client told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

/// What a session is in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionRole {
    /// It led, from the start or after `/clear`.
    Lead,
    /// A teammate in a pane, with a process and a session of its own.
    Pane,
}

/// What ended a run, the weakest evidence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// The directory had gone, and no hook said why.
    Disappeared,
    /// The lead's process had gone without a SessionEnd.
    Crashed,
    /// A new run took the team's name.
    Replaced,
    /// The lead's session ended.
    SessionEnd,
    /// The TeamDelete tool.
    TeamDelete,
}

impl EndedBy {
    /// Every one of them.
    pub const ALL: &[EndedBy] = &[
        EndedBy::Disappeared,
        EndedBy::Crashed,
        EndedBy::Replaced,
        EndedBy::SessionEnd,
        EndedBy::TeamDelete,
    ];
}

impl RunRecord {
    /// Closes the run, unless stronger evidence already did. Says whether anything changed.
    pub fn end(&mut self, by: EndedBy, reason: Option<&str>, at: Time) -> bool {
        if self.ended_by.is_some_and(|known| known >= by) {
            return false;
        }
        self.ended_at.get_or_insert_with(|| clock::stamp(at));
        self.ended_by = Some(by);
        self.ended_reason = reason.map(str::to_owned).or(self.ended_reason.take());
        true
    }

    /// Whether a teammate of this name had a split pane, and so a session, of its own.
    pub fn has_pane(&self, name: &str) -> bool {
        let mut panes = self.sessions.iter().filter(|session| session.role == SessionRole::Pane);
        panes.any(|session| session.name.as_deref() == Some(name))
    }

    /// What the team is called; `None` for a session without one.
    pub fn name(&self) -> Option<&str> {
        self.called.as_deref().or(self.team.as_deref())
    }

    /// Opens it again: it is alive after all.
    pub fn reopen(&mut self) {
        self.ended_at = None;
        self.ended_by = None;
        self.ended_reason = None;
        self.finished = false;
    }

    /// Whether it is noted which transcripts of it were kept, even that none were.
    pub fn has_transcripts(&self) -> bool {
        let told = self.sessions.iter().any(|session| session.transcript.is_some());
        self.finished && !self.veiled && told
    }

    /// Whether a look at its files was ever noted: before that, no team has a run that anybody took part in.
    pub fn has_journal(&self) -> bool {
        self.team.is_some() && (!self.sessions.is_empty() || self.ended_at.is_some())
    }

    /// What makes no sense in it.
    pub fn flaw(&self) -> Option<String> {
        let times = [Some(&self.started_at), self.created_at.as_ref(), self.ended_at.as_ref()];
        let bad = times.into_iter().flatten().find(|time| clock::parse(time).is_none());
        bad.map(|time| format!("{time:?} is no time"))
    }

    /// Whether no session ever took part in it: a client that resumes a session makes a team for the session that it
    /// would have begun, and never uses it (2.1.328).
    pub fn is_stray(&self) -> bool {
        self.team.is_some() && self.sessions.is_empty() && self.ended_at.is_some()
    }

    /// Notes a session's part. Says whether that was new.
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

/// The id of a run: name, `createdAt` and lead session, or the session alone.
pub fn run_id(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
