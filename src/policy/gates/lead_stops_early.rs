//! The lead's turn ends while work in progress is nobody's.

use std::collections::BTreeSet;

use super::at_work::{has_mail, is_at_work, is_teammate, other_runs, runs_any};
use super::idle_with_work::says_that_it_waits;
use super::{actor, finding, teammates};
use crate::config::Policy;
use crate::event::{ActorKind, LEAD};
use crate::payload::Kind;
use crate::policy::{Facts, Finding, Reason};
use crate::team::Task;

pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Option<Finding> {
    let mode = policy.lead_stops_early.mode;
    if facts.event.kind != Kind::Stop || facts.event.actor.kind != ActorKind::Lead {
        return None;
    }
    // Mail wakes the lead as well: its turn ends, and the next begins.
    if has_mail(facts, LEAD) {
        return None;
    }
    let open = facts.team.tasks.values().filter(|task| task.status.as_deref() == Some("in_progress"));
    let open: Vec<&Task> =
        open.filter(|task| !is_attended(policy, facts, task, &mut BTreeSet::new())).collect();
    if open.is_empty() {
        return None;
    }
    let reason =
        Reason::of(mode).then("ending your turn while nobody works on ").tasks(&open).then(".").instead(
            "Wake its owner with SendMessage, give it to somebody else, or settle it with TaskUpdate.",
        );
    Some(finding("lead-stops-early", "lead-stops-with-open-work", mode, actor(facts), reason))
}

/// Whether somebody is at work on the task, or on what it waits for. Each task is looked at once: tasks may wait for each
/// other.
fn is_attended<'a>(policy: &Policy, facts: &Facts<'a>, task: &'a Task, seen: &mut BTreeSet<&'a str>) -> bool {
    let team = facts.team;
    seen.insert(&task.id)
        && (is_worked_on(facts, task)
            || says_that_it_waits(&policy.idle_with_work, task)
            || team.blockers(task).any(|blocker| is_attended(policy, facts, blocker, seen)))
}

/// Whether its owner is at work, or a teammate that the owner asked something; where nobody owns it, any teammate. What the
/// lead owns, and what nobody does, may be a subagent's or a shell's. Whether an owner works that is no teammate, nobody
/// can tell.
fn is_worked_on(facts: &Facts<'_>, task: &Task) -> bool {
    let names = teammates(facts);
    match facts.team.owner(task) {
        Some(LEAD) => other_runs(facts) || is_answered(facts, LEAD),
        Some(owner) => !is_teammate(facts, owner) || is_at_work(facts, owner) || is_answered(facts, owner),
        None => {
            names.iter().any(|name| is_at_work(facts, name))
                || other_runs(facts)
                || (names.is_empty() && runs_any(facts))
        }
    }
}

/// Whether a teammate is at work that somebody asked something.
fn is_answered(facts: &Facts<'_>, asker: &str) -> bool {
    let deeds = facts.team.ledger.of(asker);
    let mut asked = deeds.awaits().filter(|whom| *whom != LEAD);
    asked.any(|whom| match whom {
        "*" => teammates(facts).iter().any(|name| is_at_work(facts, name)),
        whom => is_at_work(facts, whom),
    })
}
