//! The actor of an event.

use serde::{Deserialize, Serialize};

/// Claude Code's name for a team's lead.
pub const LEAD: &str = "team-lead";

/// The actor of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The teammate's name, `team-lead`, or a subagent's role; `None` when it is not known.
    pub name: Option<String>,
    /// Claude Code's id of the agent, if the payload has one.
    pub id: Option<String>,
    /// The role.
    pub kind: ActorKind,
}

/// The kinds of actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Unknown.
    #[serde(other)]
    Unknown,
}

impl ActorKind {
    /// Every kind.
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
    /// An unknown actor.
    pub fn unknown() -> Actor {
        Actor { name: None, id: None, kind: ActorKind::Unknown }
    }

    /// The lead.
    pub fn lead() -> Actor {
        Actor { name: Some(LEAD.to_owned()), id: None, kind: ActorKind::Lead }
    }

    /// A teammate of this name.
    pub fn teammate(name: &str, id: Option<&str>) -> Actor {
        Actor { name: Some(name.to_owned()), id: id.map(str::to_owned), kind: ActorKind::Teammate }
    }

    /// The name to show. Claude Code's internal agents have none.
    pub fn shown(&self) -> &str {
        match (self.name.as_deref(), self.kind) {
            (Some(name), _) => name,
            (None, ActorKind::Helper) => "helper",
            (None, _) => "unknown",
        }
    }
}
