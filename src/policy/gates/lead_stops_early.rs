//! The lead's turn ends while work in progress is nobody's.

use serde_json::Value;

use super::{actor, finding};
use crate::config::Policy;
use crate::event::{ActorKind, LEAD};
use crate::payload::Kind;
use crate::policy::ledger::mark;
use crate::policy::{Facts, Finding, Reason};
use crate::team::Task;

pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Option<Finding> {
    let mode = policy.lead_stops_early.mode;
    if facts.event.kind != Kind::Stop || facts.event.actor.kind != ActorKind::Lead {
        return None;
    }
    let open = facts.team.tasks.values().filter(|task| task.status.as_deref() == Some("in_progress"));
    let open: Vec<&Task> = open.filter(|task| !is_attended(facts, task)).collect();
    if open.is_empty() {
        return None;
    }
    let reason =
        Reason::of(mode).then("ending your turn while nobody works on ").tasks(&open).then(".").instead(
            "Wake its owner with SendMessage, give it to somebody else, or settle it with TaskUpdate.",
        );
    Some(finding("lead-stops-early", "lead-stops-with-open-work", mode, actor(facts), reason))
}

/// Whether a teammate is at work on the task: its owner, or, where the owner can not be told, anybody but the lead.
fn is_attended(facts: &Facts<'_>, task: &Task) -> bool {
    let ledger = &facts.team.ledger;
    let meant = |name: &str| task.owner.as_deref().map_or(name != LEAD, |owner| owner == name);
    let in_turn = ledger.members.iter().any(|(name, deeds)| deeds.turn && meant(name));
    // Mail wakes whoever has it.
    let woken =
        task.owner.as_ref().is_some_and(|owner| facts.team.mail.get(owner).is_some_and(|count| *count > 0));
    in_turn || (task.owner.as_deref() != Some(LEAD) && (woken || runs(facts, meant)))
}

/// Whether the client says that such a teammate runs. Which one is known by what it was spawned for; where it is not,
/// it may be the one.
fn runs(facts: &Facts<'_>, meant: impl Fn(&str) -> bool) -> bool {
    let ledger = &facts.team.ledger;
    let tasks = facts.event.payload.field("background_tasks").and_then(Value::as_array);
    tasks.into_iter().flatten().any(|task| {
        let text = |key: &str| task.get(key).and_then(Value::as_str);
        let known = text("description").and_then(|words| ledger.described.get(&mark(words)));
        text("type") == Some("teammate")
            && text("status") == Some("running")
            && known.filter(|name| !name.is_empty()).is_none_or(|name| meant(name))
    })
}
