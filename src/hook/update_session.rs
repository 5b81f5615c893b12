//! Updates the state of a session with the facts from a hook call.

use super::pipeline::HookContext;
use crate::attribution::{self, CallContext, RecentCall, ResolvedTeam, SessionState};
use crate::enforcement::Evaluation;
use crate::event::{Actor, ActorKind};
use crate::payload::{Kind, Payload, Spawn};
use crate::policy::Verdict;

/// The session's state after this call.
pub fn learn(evidence: &CallContext<'_>, resolved: &ResolvedTeam, actor: &Actor) -> SessionState {
    let mut memory = evidence.memory.clone();
    if resolved.member {
        memory.team = resolved.team.as_ref().map(ToString::to_string).or(memory.team);
        memory.name = resolved.name.clone().or(memory.name);
    }
    if let Some(spawn) = Spawn::of(evidence.payload) {
        memory.company = true;
        // `name@team` is the member's id, not the agent id in hook payloads.
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
        memory.version = attribution::version(evidence);
    }
    memory
}

/// Stores a tool call that was not blocked and may be announced again, with its verdicts.
pub(super) fn announced(
    payload: &Payload,
    step: &HookContext,
    judgement: &Evaluation,
    memory: &mut SessionState,
) {
    let earlier = step.again.clone();
    let Some(mut announcement) = earlier.or_else(|| RecentCall::of(payload, step.kind, step.id.as_str()))
    else {
        return;
    };
    let is_new = |verdict: &&Verdict| !step.settled.iter().any(|settled| settled.is_same(verdict));
    let verdicts = judgement.verdicts.iter().filter(is_new);
    // Reasons are stored in the log only.
    let verdicts = verdicts.map(|verdict| Verdict { reason: String::new(), ..verdict.clone() });
    announcement.verdicts.extend(verdicts.filter_map(|verdict| serde_json::to_value(verdict).ok()));
    memory.announced.note(announcement);
}
