//! Who did it.

use serde::{Deserialize, Serialize};

/// The client's name for a team's lead.
pub const LEAD: &str = "team-lead";

/// Who did what an event tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The teammate's name, `team-lead`, or a subagent's role; `None` when it is not known.
    pub name: Option<String>,
    /// The client's id of the agent, where the payload says one.
    pub id: Option<String>,
    /// What kind of actor it is.
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
    /// The client's own helper (a prompt suggestion, say).
    Helper,
    /// The evidence does not say.
    #[serde(other)]
    Unknown,
}

impl ActorKind {
    /// Every kind.
    pub const ALL: &[ActorKind] =
        &[ActorKind::Lead, ActorKind::Teammate, ActorKind::Subagent, ActorKind::Helper, ActorKind::Unknown];

    /// The word for it, as the record spells it.
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
    /// An actor whom the evidence does not name.
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

    /// The name to show. The client's own helpers have none.
    pub fn shown(&self) -> &str {
        match (self.name.as_deref(), self.kind) {
            (Some(name), _) => name,
            (None, ActorKind::Helper) => "helper",
            (None, _) => "unknown",
        }
    }
}
