//! Identifies the actor and the team of a hook call from the evidence in it, one function per rule. When the evidence
//! is not conclusive, the result is "unknown", never a guess. [`SessionState`] has what one call of a session leaves for the next.

use std::collections::BTreeMap;
use std::io;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use teamkeep_model::event::{MAX_ENTRIES, MAX_NAME_BYTES, SafeName};
use teamkeep_model::payload::{EventKind, Payload, Spawn};
use teamkeep_model::team::{directory, erasing};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_model::{Tool, compat, json};
use teamkeep_store::archive::Index;
use teamkeep_system::fs::{self, JsonDocument, JsonFile};
use teamkeep_system::store_lock::StoreLock;

mod resolve;

pub use resolve::{CandidateTeams, ResolvedTeam, actor, candidate_teams, team, version};

type Known = BTreeMap<SafeName, Index>;

type TeamMember = (SafeName, String);

#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    pub payload: &'a Payload,
    pub kind: EventKind,
    pub state: &'a SessionState,
    pub client: &'a Path,
    pub client_pid: Option<u32>,
    pub pane: Option<&'a str>,
}

impl<'a> CallContext<'a> {
    pub(crate) fn named_team(&self) -> Option<SafeName> {
        self.directory(self.payload.text("team_name")?)
    }

    /// Before 2.1.178 team names are free text and the directory's name is derived from them, so the directory must have a
    /// configuration with this name, or the session must be in that team.
    pub fn directory(&self, name: &str) -> Option<SafeName> {
        let plain = SafeName::new(name);
        let spelled = directory(name);
        if spelled == name {
            return plain;
        }
        let is_there = |team: &SafeName| self.client.join("teams").join(team).join("config.json").exists();
        let is_own = |team: &SafeName| self.state.team.as_deref() == Some(team.as_str());
        let other = || SafeName::new(&spelled).filter(|team| is_there(team) || is_own(team));
        plain.clone().filter(is_there).or_else(other).or(plain)
    }

    /// The team that a tool call created, or into which it spawned a teammate.
    pub(crate) fn made_team(&self) -> Option<SafeName> {
        if self.kind != EventKind::PostToolUse {
            return None;
        }
        let created = || {
            let response = self.payload.tool_response();
            let name = response.get("team_name").and_then(Value::as_str)?;
            (self.payload.tool() == Some(Tool::TeamCreate)).then(|| self.directory(name)).flatten()
        };
        created().or_else(|| self.directory(&Spawn::of(self.payload)?.team?))
    }

    pub(crate) fn changed_team(&self) -> Option<SafeName> {
        let path = Path::new(self.payload.text("file_path").filter(|_| self.kind == EventKind::FileChanged)?);
        let below = path.strip_prefix(self.client).ok()?;
        let mut parts = below.components();
        let root = parts.next()?.as_os_str();
        let name = parts.next().filter(|_| root == "teams" || root == "tasks")?.as_os_str().to_str()?;
        self.directory(erasing(name).unwrap_or(name))
    }

    /// The team of a session of 2.1.178 and later: `session-<first 8 of the session id>`.
    pub(crate) fn own_team(&self) -> Option<SafeName> {
        self.payload.session()?.get(..8).and_then(|head| SafeName::new(&format!("session-{head}")))
    }

    /// Whether the session looks like a split-pane teammate's: it has a role but no agent.
    pub(crate) fn looks_like_split_pane(&self) -> bool {
        self.payload.agent_id().is_none()
            && self.payload.text("agent_type").is_some_and(|role| !role.is_empty())
    }

    /// The member whose pane it is, for a payload without a role.
    fn member_without_role(&self, known: &Known) -> Option<TeamMember> {
        let is_teammate = compat::may_be_teammate(self.payload, self.state.name.as_deref());
        let found = self.find_by_pane(known).filter(|_| is_teammate)?;
        let in_payload = self.named_team().zip(self.payload.text("teammate_name").map(str::to_owned));
        let is_proven =
            in_payload.as_ref() == Some(&found) || self.named_in_transcript().as_ref() == Some(&found);
        is_proven.then_some(found)
    }

    /// Whether a session is in a member's pane, but its transcript, which assigns it, is still missing.
    pub(crate) fn is_undecided(&self, known: &Known) -> bool {
        compat::may_be_teammate(self.payload, self.state.name.as_deref())
            && self.find_by_pane(known).is_some()
    }

    /// The member whose pane `TMUX_PANE` names, if it is in exactly one team and in the same directory.
    fn find_by_pane(&self, known: &Known) -> Option<TeamMember> {
        let (pane, cwd) = (self.pane?, self.payload.text("cwd"));
        let mut found = known.iter().filter(|(_, index)| !index.ended).flat_map(|(team, index)| {
            let is_here = |other: Option<&str>| other.zip(cwd).is_none_or(|(other, cwd)| other == cwd);
            let in_pane = index.members.iter().filter(|member| member.pane.as_deref() == Some(pane));
            let members = in_pane.filter(move |member| is_here(member.cwd.as_deref()));
            members.map(|member| (team.clone(), member.name.clone()))
        });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// Agent name and team from a split-pane teammate's transcript, which has both in every entry.
    fn named_in_transcript(&self) -> Option<TeamMember> {
        head(self.transcript()?).find_map(|record| {
            let team = self.directory(record.get("teamName")?.as_str()?)?;
            Some((team, record.get("agentName")?.as_str()?.to_owned()))
        })
    }

    /// The time of the first entry of the transcript.
    pub(crate) fn transcript_start(&self) -> Option<Timestamp> {
        head(self.transcript()?).find_map(|record| time::parse(record.get("timestamp")?.as_str()?))
    }

    /// The transcript that the payload names, if it is in Claude Code's directory of transcripts.
    pub fn transcript(&self) -> Option<&'a Path> {
        let path = self.payload.transcript()?;
        let below = path.strip_prefix(self.client.join("projects")).ok()?;
        let plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        (plain && path.extension().is_some_and(|extension| extension == "jsonl")).then_some(path)
    }
}

/// The first entries of a transcript, within a few kilobytes. Empty if the path is not a regular file.
fn head(transcript: &Path) -> impl Iterator<Item = Value> {
    fs::open_regular(transcript).ok().into_iter().flat_map(records_at_start)
}

fn records_at_start(transcript: impl Read) -> impl Iterator<Item = Value> {
    let lines = BufReader::new(transcript.take(64 * 1024)).split(b'\n');
    let lines = lines.map_while(std::result::Result::ok).take(20);
    lines.filter_map(|line| json::parse_lossy(&line))
}

/// The version of Claude Code in a transcript, as a hook call finds it.
pub fn version_in(transcript: impl Read) -> Option<String> {
    records_at_start(transcript).find_map(|record| Some(record.get("version")?.as_str()?.to_owned()))
}

// The state of a session between hook calls: `sessions/<session>.json`.

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

impl JsonDocument for SessionState {}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockedDeletes {
    pub times: u32,
    pub files: usize,
}

impl SessionState {
    /// Loads the state; empty if the session is new or its file is damaged.
    pub fn load(store: &Path, session: &SafeName) -> SessionState {
        file(store, session).known().unwrap_or_default()
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
