//! Starting or completing a task that depends on an unfinished one.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Case, Finding, Reason};
use teamkeep_config::{Gate, Policy};
use teamkeep_model::TaskStatus;
use teamkeep_model::payload::TaskUpdate;
use teamkeep_model::team::Task;

pub(super) fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (team, mode) = (case.team, policy.unfinished_dependencies.mode);
    let update = update(case)?;
    let task = team.tasks.get(&update.task)?;
    let added = added_blockers(case).filter_map(|id| team.tasks.get(id)).filter(|task| !task.is_done());
    let mut seen = BTreeSet::from([&task.id]);
    let blockers = team.blockers(task).chain(added).filter(|blocker| seen.insert(&blocker.id));
    let blockers: Vec<&Task> = blockers.collect();
    if task.status == update.status || blockers.is_empty() {
        return None;
    }
    let (code, doing) = match update.status {
        Some(TaskStatus::InProgress) => ("start-before-dependencies", "starting "),
        _ => ("completion-before-dependencies", "completing "),
    };
    let about = case.event.actor.name.as_deref().or_else(|| case.owner(task));
    let reason = Reason::default()
        .then(doing)
        .tasks(&[task])
        .then(" before the tasks that it depends on: ")
        .tasks(&blockers)
        .then(".")
        .instead("Wait for it or help with it. If the dependency no longer applies, remove it first.");
    let about = about.unwrap_or_else(|| case.actor());
    Some(Finding::new(Gate::UnfinishedDependencies, code, mode.into(), about, reason))
}

/// The update, if it starts or completes a task.
pub(super) fn update(case: &Case<'_>) -> Option<TaskUpdate> {
    let can_be_blocked =
        |status: &TaskStatus| matches!(status, TaskStatus::InProgress | TaskStatus::Completed);
    TaskUpdate::of(case.event.payload.tool_input(), &Value::Null)
        .filter(|update| update.status.as_ref().is_some_and(can_be_blocked))
}

fn added_blockers<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a str> {
    let added = case.event.payload.tool_input().get("addBlockedBy").and_then(Value::as_array);
    added.into_iter().flatten().filter_map(Value::as_str)
}
