//! One hook call as an event, with validated ids.

mod id;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use id::{Id, SafeName};

use crate::clock;

/// The event of a pause or an allowance. A command records it, not a hook.
pub const OVERRIDE: &str = "PolicyOverride";

/// Claude Code's name for a team's lead.
pub const LEAD: &str = "team-lead";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Actor {
    /// The teammate's name, `team-lead`, or a subagent's role; `None` when it is not known.
    pub name: Option<String>,
    pub id: Option<String>,
    pub kind: ActorKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// The session that leads the team, or a session without a team.
    Lead,
    /// A member of the team that is not its lead.
    Teammate,
    /// A plain subagent: it has a role, no name.
    Subagent,
    /// Claude Code's internal agent, such as one for prompt suggestions.
    Helper,
    #[default]
    #[serde(other)]
    Unknown,
}

impl ActorKind {
    pub const ALL: &[ActorKind] =
        &[ActorKind::Lead, ActorKind::Teammate, ActorKind::Subagent, ActorKind::Helper, ActorKind::Unknown];

    /// The word for it, as in the log.
    pub fn word(self) -> &'static str {
        match self {
            ActorKind::Lead => "lead",
            ActorKind::Teammate => "teammate",
            ActorKind::Subagent => "subagent",
            ActorKind::Helper => "helper",
            ActorKind::Unknown => "unknown",
        }
    }
}

impl Actor {
    pub fn unknown() -> Actor {
        Actor::default()
    }

    pub fn lead() -> Actor {
        Actor { name: Some(LEAD.to_owned()), id: None, kind: ActorKind::Lead }
    }

    pub fn teammate(name: &str, id: Option<&str>) -> Actor {
        Actor { name: Some(name.to_owned()), id: id.map(str::to_owned), kind: ActorKind::Teammate }
    }

    /// The name to show. Claude Code's internal agents have none.
    pub fn shown(&self) -> &str {
        let unnamed = if self.kind == ActorKind::Helper { "helper" } else { "unknown" };
        self.name.as_deref().unwrap_or(unnamed)
    }
}

/// One hook call to be written. The order of the fields is the order in the line; `payload` is last.
#[derive(Debug, Serialize)]
pub struct Event<'a> {
    pub v: u8,
    /// The start of the call by teamkeep's clock; payloads have no time.
    pub at: &'a str,
    pub id: &'a str,
    pub event: &'a str,
    pub session: Option<&'a str>,
    pub team: Option<&'a str>,
    pub actor: &'a Actor,
    pub run: Option<&'a str>,
    /// The task list in `CLAUDE_CODE_TASK_LIST_ID`, spelled like its directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_list: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'a str>,
    /// Why the payload is not one JSON object; `payload` holds its text or base64 then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed: Option<&'a str>,
    /// The verdict about another event, if this line is a verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'a RawValue>,
    /// The payload, verbatim except for line breaks between tokens.
    pub payload: &'a RawValue,
}

impl Event<'_> {
    pub fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = Vec::with_capacity(self.payload.get().len() + 320);
        serde_json::to_writer(&mut line, self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// A line of the log as read. Missing and unknown fields are allowed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Recorded {
    pub v: u8,
    pub at: String,
    pub id: String,
    pub event: String,
    pub session: Option<String>,
    pub team: Option<String>,
    pub actor: Actor,
    pub run: Option<String>,
    pub task_list: Option<String>,
    pub warning: Option<String>,
    pub malformed: Option<String>,
    pub verdict: Option<Box<RawValue>>,
    pub payload: Box<RawValue>,
}

impl Recorded {
    /// The first invalid field.
    pub fn flaw(&self) -> Option<String> {
        if Id::known(&self.id).is_none() {
            return Some(format!("invalid id {:?}", self.id));
        }
        clock::parse(&self.at).is_none().then(|| format!("invalid time {:?}", self.at))
    }
}
