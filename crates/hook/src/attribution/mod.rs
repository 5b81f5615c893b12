//! Identifies the actor and the team of a hook call from the evidence in it, one function per rule. When the evidence
//! is not conclusive, the result is "unknown", never a guess.

mod resolve;
mod session_state;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

pub use resolve::{CandidateTeams, ResolvedTeam, actor, candidate_teams, team, version};
pub use session_state::{Agents, BlockedDeletes, SessionState};

use teamkeep_model::Tool;
use teamkeep_model::compat;
use teamkeep_model::event::SafeName;
use teamkeep_model::json;
use teamkeep_model::payload::{Kind, Payload, Spawn};
use teamkeep_model::team::{directory, erasing};
use teamkeep_model::time::Timestamp;
use teamkeep_model::time::{self};
use teamkeep_store::archive::Index;
use teamkeep_system::fs;

type Known = BTreeMap<SafeName, Index>;

type TeamMember = (SafeName, String);

#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    pub payload: &'a Payload,
    pub kind: Kind,
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
        if self.kind != Kind::PostToolUse {
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
        let path = Path::new(self.payload.text("file_path").filter(|_| self.kind == Kind::FileChanged)?);
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
