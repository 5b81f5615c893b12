//! The lead's turn ends while no agent works on a task in progress.

use std::collections::{HashMap, HashSet};

use super::idle_with_work::says_that_it_waits;
use super::is_working::AtWork;
use super::{actor, finding};
use crate::config::{Gate, Policy};
use crate::event::{ActorKind, LEAD};
use crate::model::TaskStatus;
use crate::payload::Kind;
use crate::policy::{Case, Finding, Part, Reason};
use crate::team::Task;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.lead_stops_early.mode;
    if case.event.kind != Kind::Stop || case.event.actor.kind != ActorKind::Lead {
        return None;
    }
    let is_open = |task: &&Task| task.status == Some(TaskStatus::InProgress);
    let open = || case.team.tasks.values().filter(is_open);
    // A message starts the lead's next turn.
    if case.team.waiting(LEAD) > 0 || open().next().is_none() {
        return None;
    }
    let attended = attended(policy, case);
    let open: Vec<&Task> = open().filter(|task| !attended.contains(task.id.as_str())).collect();
    if open.is_empty() {
        return None;
    }
    let reason = Reason::of(mode)
        .then("ending your turn while no agent works on ")
        .tasks(&open)
        .then(".")
        .instead("Send its owner a message, or complete or reassign it with TaskUpdate.");
    Some(finding(Gate::LeadStopsEarly, "lead-stops-with-open-work", mode, actor(case), reason))
}

/// The lead, at the end of its turn: the gate reads every part.
pub fn needs(_: &Policy, case: &Case<'_>, _: &Part) -> Option<String> {
    let ends = case.event.kind == Kind::Stop && case.event.actor.kind == ActorKind::Lead;
    ends.then(|| actor(case).to_owned())
}

/// The tasks that an agent works on, those marked as waiting, and those blocked by one of them.
fn attended<'a>(policy: &Policy, case: &Case<'a>) -> HashSet<&'a str> {
    let work = AtWork::of(case);
    let mut waiting: HashMap<&str, Vec<&Task>> = HashMap::new();
    let mut next: Vec<&Task> = Vec::new();
    for task in case.team.tasks.values().filter(|task| !task.is_done()) {
        if is_worked_on(&work, case, task) || says_that_it_waits(&policy.idle_with_work, task) {
            next.push(task);
        }
        for blocker in case.team.blockers(task) {
            waiting.entry(&blocker.id).or_default().push(task);
        }
    }
    let mut attended = HashSet::new();
    while let Some(task) = next.pop() {
        if attended.insert(task.id.as_str()) {
            next.extend(waiting.get(task.id.as_str()).into_iter().flatten());
        }
    }
    attended
}

/// Whether the owner, or a teammate that the owner asked, is working; for an unassigned task, any teammate. A task of
/// the lead and an unassigned task may also belong to a subagent or a shell. An owner that is not a teammate cannot be
/// checked.
fn is_worked_on<'a>(work: &AtWork<'_, 'a>, case: &Case<'a>, task: &'a Task) -> bool {
    match case.names.owner(task) {
        Some(LEAD) => work.other_runs() || is_answered(work, case, LEAD),
        Some(owner) => !work.is_teammate(owner) || work.is_at_work(owner) || is_answered(work, case, owner),
        None => {
            work.any_is_at_work()
                || work.other_runs()
                || (case.names.teammates().is_empty() && work.runs_any())
        }
    }
}

/// Whether a teammate is working that the agent asked something.
fn is_answered(work: &AtWork<'_, '_>, case: &Case<'_>, asker: &str) -> bool {
    let mut asked = case.team.ledger.of(asker).awaits_answer_from().filter(|whom| *whom != LEAD);
    asked.any(|whom| match whom {
        "*" => work.any_is_at_work(),
        whom => work.is_at_work(whom),
    })
}
