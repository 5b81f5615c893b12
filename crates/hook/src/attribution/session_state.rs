//! The state of a session between hook calls: `sessions/<session>.json`.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use teamkeep_model::event::{MAX_ENTRIES, MAX_NAME_BYTES, SafeName};
use teamkeep_system::fs::{self, Content, Document, JsonFile};
use teamkeep_system::store_lock::StoreLock;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    pub v: u8,
    pub team: Option<String>,
    pub name: Option<String>,
    pub agents: Agents,
    /// Whether an agent other than the lead acted in the session.
    pub company: bool,
    pub version: Option<String>,
    pub run: Option<String>,
    /// When the session was last found to be in no team, by the file system's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teamless: Option<i64>,
    /// Hash of the project's file when the user was last warned that it changed since it was trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_project: Option<String>,
    /// Whether the user was warned that the hooks are redirected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redirected: bool,
    /// How often TeamDelete was last blocked because of files that could not be archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<BlockedDeletes>,
}

impl Document for SessionState {}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockedDeletes {
    pub times: u32,
    pub files: usize,
}

impl SessionState {
    /// Loads the state; empty if the session is new or its file is damaged.
    pub fn load(store: &Path, session: &SafeName) -> SessionState {
        match file(store, session).read() {
            Ok(Content::Valid(state)) => state,
            _ => SessionState::default(),
        }
    }

    /// Writes the changes since `before`, merged with concurrent changes by other calls of the session.
    pub fn save(
        &self,
        before: &SessionState,
        store: &Path,
        session: &SafeName,
        patience: Duration,
    ) -> io::Result<()> {
        if self == before {
            return Ok(());
        }
        let _lock = match StoreLock::Sessions.take(store, patience) {
            Ok(None) => return Err(fs::held_error("the sessions'")),
            // If it cannot exist, a concurrent change may be lost. That is better than storing nothing.
            lock => lock.ok().flatten(),
        };
        let mut merged = SessionState::load(store, session);
        merged.v = 1;
        // Only ids that this call added: another call may have dropped the others in the meantime.
        for (id, name) in self.agents.iter().filter(|(id, name)| before.agents.get(id) != Some(name)) {
            merged.agents.note(id, name);
        }
        merged.company |= self.company;
        merged.redirected |= self.redirected;
        changed(&self.team, &before.team, &mut merged.team);
        changed(&self.name, &before.name, &mut merged.name);
        changed(&self.version, &before.version, &mut merged.version);
        changed(&self.run, &before.run, &mut merged.run);
        changed(&self.changed_project, &before.changed_project, &mut merged.changed_project);
        changed(&self.refused, &before.refused, &mut merged.refused);
        changed(&self.teamless, &before.teamless, &mut merged.teamless);
        file(store, session).write(&merged)
    }
}

/// Takes over a field that this call has changed.
fn changed<T: Clone + PartialEq>(own: &T, before: &T, merged: &mut T) {
    if own != before {
        merged.clone_from(own);
    }
}

fn file(store: &Path, session: &SafeName) -> JsonFile<SessionState> {
    JsonFile::at(store.join("sessions").join(format!("{session}.json")))
}

/// Members' names by agent id, the oldest ids first. A [`Map`] keeps this order, also in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Agents(Map<String, Value>);

impl Agents {
    pub fn get(&self, id: &str) -> Option<&str> {
        self.0.get(id)?.as_str()
    }

    /// Records the member of an id. A known id keeps its position; a new one replaces the oldest. Before 2.1.178 each turn has a
    /// new id, and an old one is not used again once the next turn has begun.
    pub fn note(&mut self, id: &str, name: &str) {
        if id.len() > MAX_NAME_BYTES || name.len() > MAX_NAME_BYTES {
            return;
        }
        self.0.insert(id.to_owned(), name.into());
        let mut surplus = self.0.len().saturating_sub(MAX_ENTRIES);
        self.0.retain(|_, _| {
            let stays = surplus == 0;
            surplus = surplus.saturating_sub(1);
            stays
        });
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(id, name)| Some((id.as_str(), name.as_str()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_calls_of_a_session_keep_each_others_changes() {
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

    #[test]
    fn an_id_for_each_turn_leaves_the_last_ids() {
        let mut agents = Agents::default();
        for turn in 0..10_000 {
            agents
                .note(&format!("a{:x}", turn * 7_919 % 10_007), if turn % 2 == 0 { "alice" } else { "bob" });
        }
        assert_eq!(agents.iter().count(), MAX_ENTRIES);
        for turn in 10_000 - MAX_ENTRIES..10_000 {
            assert!(agents.get(&format!("a{:x}", turn * 7_919 % 10_007)).is_some(), "{turn}");
        }
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        agents.note(&long, "alice");
        agents.note("a1", &long);
        assert_eq!(agents.iter().count(), MAX_ENTRIES, "no payload makes it large");
    }

    #[test]
    fn agents_of_an_earlier_version_are_read_in_their_order() {
        let mut agents: Agents = serde_json::from_str(r#"{"a9":"alice","a1":"alice","b2":"bob"}"#).unwrap();
        for id in ["a5", "a0", "a4"] {
            agents.note(id, "alice");
        }
        let text = serde_json::to_string(&agents).unwrap();
        assert_eq!(text, r#"{"a9":"alice","a1":"alice","b2":"bob","a5":"alice","a0":"alice","a4":"alice"}"#);
        assert_eq!(serde_json::from_str::<Agents>(&text).unwrap(), agents);
    }
}
