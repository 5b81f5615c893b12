//! The evidence for actor and team in a hook call.

use std::path::Path;

use serde_json::Value;

use super::SessionState;
use crate::event::SafeName;
use crate::model::Tool;
use crate::payload::{Kind, Payload, Spawn};
use crate::team;

#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    pub payload: &'a Payload,
    pub kind: Kind,
    pub memory: &'a SessionState,
    pub client: &'a Path,
    pub client_pid: Option<u32>,
    pub pane: Option<&'a str>,
}

impl CallContext<'_> {
    pub fn session(&self) -> Option<SafeName> {
        self.payload.session().and_then(SafeName::stem)
    }

    pub fn named_team(&self) -> Option<SafeName> {
        self.directory(self.payload.text("team_name")?)
    }

    /// The directory of the team with this name. Before 2.1.178 team names are free text and the directory's name is
    /// derived from them, so the directory must have a configuration with this name, or the session must be in that
    /// team.
    pub fn directory(&self, name: &str) -> Option<SafeName> {
        let plain = SafeName::new(name);
        let spelled = team::directory(name);
        if spelled == name {
            return plain;
        }
        let is_there = |team: &SafeName| self.client.join("teams").join(team).join("config.json").exists();
        let is_own = |team: &SafeName| self.memory.team.as_deref() == Some(team.as_str());
        let other = || SafeName::new(&spelled).filter(|team| is_there(team) || is_own(team));
        plain.clone().filter(is_there).or_else(other).or(plain)
    }

    /// The team that a tool call created, or into which it spawned a teammate.
    pub fn made_team(&self) -> Option<SafeName> {
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

    pub fn changed_team(&self) -> Option<SafeName> {
        let path = Path::new(self.payload.text("file_path").filter(|_| self.kind == Kind::FileChanged)?);
        let below = path.strip_prefix(self.client).ok()?;
        let mut parts = below.components();
        let root = parts.next()?.as_os_str();
        let name = parts.next().filter(|_| root == "teams" || root == "tasks")?.as_os_str().to_str()?;
        self.directory(team::erasing(name).unwrap_or(name))
    }

    /// The team of a session of 2.1.178 and later: `session-<first 8 of the session id>`.
    pub fn own_team(&self) -> Option<SafeName> {
        self.payload.session()?.get(..8).and_then(|head| SafeName::new(&format!("session-{head}")))
    }

    /// Whether the session looks like a split-pane teammate's: it has a role but no agent.
    pub fn looks_like_split_pane(&self) -> bool {
        self.payload.agent_id().is_none()
            && self.payload.text("agent_type").is_some_and(|role| !role.is_empty())
    }

    pub fn transcript(&self) -> Option<&Path> {
        transcript(self.payload, self.client)
    }
}

/// The transcript that a payload names, if it is in Claude Code's directory of transcripts.
pub fn transcript<'a>(payload: &'a Payload, client: &Path) -> Option<&'a Path> {
    let path = payload.transcript()?;
    let below = path.strip_prefix(client.join("projects")).ok()?;
    let plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    (plain && path.extension().is_some_and(|extension| extension == "jsonl")).then_some(path)
}
