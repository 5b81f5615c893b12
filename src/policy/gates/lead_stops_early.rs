//! The lead's turn ends while work in progress is nobody's.

use serde_json::Value;

use super::{actor, finding, teammates};
use crate::config::Policy;
use crate::event::{ActorKind, LEAD};
use crate::payload::Kind;
use crate::policy::{Facts, Finding, Reason, Whose};
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

/// Whether somebody is at work on the task: its owner, or, where nobody owns it, any teammate. What the lead owns, and what
/// nobody does, may be a subagent's or a shell's.
fn is_attended(facts: &Facts<'_>, task: &Task) -> bool {
    match facts.team.owner(task) {
        Some(LEAD) => listed(facts).any(|task| is_other(facts, task)),
        Some(owner) => is_at_work(facts, owner),
        None => {
            let names = teammates(facts);
            names.iter().any(|name| is_at_work(facts, name))
                || listed(facts).any(|task| names.is_empty() || is_other(facts, task))
        }
    }
}

/// Whether a teammate is in a turn, or will be: mail wakes whoever has it. What it is told in a turn leaves its inbox at once
/// and is delivered with the next. A teammate that is idle runs as well, to the client: that is believed only of one that
/// was not seen to go idle after its last turn. Not every turn in a split pane is seen to begin, but its end is.
fn is_at_work(facts: &Facts<'_>, name: &str) -> bool {
    let (team, deeds) = (facts.team, facts.team.ledger.of(name));
    let mail = team.mail.get(name).is_some_and(|count| *count > 0);
    deeds.turn
        || deeds.stopping
        || mail
        || deeds.idle.map_or_else(|| runs(facts, name, deeds.turned), |idle| deeds.told() > Some(idle))
}

/// Whether the client says that such a teammate runs. Where it lists nothing, one that was in a turn may be in it.
fn runs(facts: &Facts<'_>, name: &str, turned: bool) -> bool {
    if facts.event.payload.field("background_tasks").is_none() {
        return turned;
    }
    let is_it = |task| match facts.team.ledger.listed(task) {
        Some(Whose::One(whose)) => whose == name,
        Some(Whose::Among(all)) => all.iter().any(|whose| whose == name),
        Some(Whose::Any) => true,
        None => false,
    };
    listed(facts).any(is_it)
}

/// The background tasks that run, as the client says.
fn listed<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Value> {
    let tasks = facts.event.payload.field("background_tasks").and_then(Value::as_array);
    let runs = |task: &&Value| task.get("status").and_then(Value::as_str) == Some("running");
    tasks.into_iter().flatten().filter(runs)
}

/// Whether such a task is no teammate.
fn is_other(facts: &Facts<'_>, task: &Value) -> bool {
    facts.team.ledger.listed(task).is_none()
}
