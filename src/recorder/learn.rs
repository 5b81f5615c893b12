//! What a call teaches about its session, for the calls to come.

use crate::event::{Actor, ActorKind};
use crate::identity::{self, Evidence, Memory, Resolved};
use crate::payload::{Kind, Spawn};

/// The memory after this call.
pub fn learn(evidence: &Evidence<'_>, resolved: &Resolved, actor: &Actor) -> Memory {
    let mut memory = evidence.memory.clone();
    if resolved.member {
        memory.team = resolved.team.as_ref().map(ToString::to_string).or(memory.team);
        memory.name = resolved.name.clone().or(memory.name);
    }
    if let Some(spawn) = Spawn::of(evidence.payload) {
        memory.company = true;
        // `name@team` is the member's id, not the one that hooks carry.
        if let Some(id) = spawn.agent_id.filter(|id| !id.contains('@')) {
            memory.agents.note(&id, &spawn.name);
        }
    }
    if let (ActorKind::Teammate, Some(name), Some(id)) = (actor.kind, &actor.name, &actor.id)
        && memory.agents.get(id).is_none()
    {
        memory.agents.note(id, name);
    }
    memory.company |= evidence.payload.agent_id().is_some() || evidence.kind == Kind::TeammateIdle;
    if memory.company && memory.version.is_none() {
        memory.version = identity::version(evidence);
    }
    memory
}
