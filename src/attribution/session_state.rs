//! The state of a session between hook calls: `sessions/<session>.json`.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Agents, RecentCalls};
use crate::event::SafeName;
use crate::fs::{self, Content, Document, JsonFile};

/// Facts about a session from earlier calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// Format version: 1.
    pub v: u8,
    /// Its team.
    pub team: Option<String>,
    /// The agent's name, if the session is a split-pane teammate's.
    pub name: Option<String>,
    /// Names by agent id.
    pub agents: Agents,
    /// Whether an agent other than the lead acted in the session.
    pub company: bool,
    /// Claude Code's version.
    pub version: Option<String>,
    /// The run to which the session belongs.
    pub run: Option<String>,
    /// When the session was last found to be in no team, by the file system's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teamless: Option<i64>,
    /// Hash of the project's file when the user was last warned that it changed since it was trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// How often TeamDelete was last blocked because of files that could not be archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<BlockedDeletes>,
    /// The last tool calls that Claude Code may announce again.
    #[serde(skip_serializing_if = "RecentCalls::is_empty")]
    pub announced: RecentCalls,
}

impl Document for SessionState {
    /// No session has enough agents to need more.
    const MAX_BYTES: u64 = 1 << 24;
}

/// How often a TeamDelete was blocked with this many files not archived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockedDeletes {
    /// Number of blocks.
    pub times: u32,
    /// Number of files.
    pub files: usize,
}

impl SessionState {
    /// Loads the state; empty if the session is new or its file is damaged.
    pub fn load(dir: &Path, session: &SafeName) -> SessionState {
        match file(dir, session).read() {
            Ok(Content::Valid(state)) => state,
            _ => SessionState::default(),
        }
    }

    /// Writes the changes since `before`, merged with concurrent changes by other calls of the session.
    ///
    /// # Errors
    /// When an I/O operation fails, or another process keeps the lock for too long.
    pub fn save(
        &self,
        before: &SessionState,
        dir: &Path,
        session: &SafeName,
        patience: Duration,
    ) -> io::Result<()> {
        if self == before {
            return Ok(());
        }
        let path = dir.join(".lock");
        let _lock = match fs::lock_of("the sessions'", &path, patience) {
            // Without a lock, a concurrent change may be lost. That is better than never storing anything.
            Err(_) if fs::is_blocked_by_other_file(&path) => None,
            locked => Some(locked?),
        };
        let mut merged = SessionState::load(dir, session);
        merged.v = 1;
        // Only ids that this call added: another call may have dropped the others in the meantime.
        for (id, name) in self.agents.iter().filter(|(id, name)| before.agents.get(id) != Some(name)) {
            merged.agents.note(id, name);
        }
        merged.company |= self.company;
        let newer = |mine: &Option<String>, old: &Option<String>, theirs: &mut Option<String>| {
            if mine != old {
                theirs.clone_from(mine);
            }
        };
        newer(&self.team, &before.team, &mut merged.team);
        newer(&self.name, &before.name, &mut merged.name);
        newer(&self.version, &before.version, &mut merged.version);
        newer(&self.run, &before.run, &mut merged.run);
        newer(&self.changed, &before.changed, &mut merged.changed);
        if self.refused != before.refused {
            merged.refused = self.refused;
        }
        if self.announced != before.announced {
            merged.announced.merge(&self.announced, &before.announced);
        }
        if self.teamless != before.teamless {
            merged.teamless = self.teamless;
        }
        file(dir, session).write(&merged, false).map(drop)
    }
}

fn file(dir: &Path, session: &SafeName) -> JsonFile<SessionState> {
    JsonFile::at(dir.join(format!("{session}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_of_a_session_do_not_forget_what_the_other_learned() {
        let dir = tempfile::tempdir().unwrap();
        let session = SafeName::new("s1").unwrap();
        let before = SessionState::load(dir.path(), &session);
        let patience = Duration::from_secs(5);
        let mut one = SessionState::default();
        one.agents.note("a1", "alice");
        let two = SessionState { team: Some("t".to_owned()), company: true, ..SessionState::default() };
        one.save(&before, dir.path(), &session, patience).unwrap();
        two.save(&before, dir.path(), &session, patience).unwrap();
        let both = SessionState::load(dir.path(), &session);
        assert_eq!(
            (both.agents.get("a1"), both.team.as_deref(), both.company),
            (Some("alice"), Some("t"), true)
        );
    }
}
