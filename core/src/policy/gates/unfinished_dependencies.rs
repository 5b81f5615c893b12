//! Starting or completing a task that depends on an unfinished one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{actor, finding};
use crate::client::payload::TaskUpdate;
use crate::client::team::Task;
use crate::config::{Gate, Policy};
use crate::model::{TaskStatus, Tool};
use crate::policy::{Case, Facts, Finding, Part, Reason};

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
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
    let about = case.event.actor.name.as_deref().or_else(|| case.names.owner(task));
    let reason = Reason::of(mode)
        .then(doing)
        .tasks(&[task])
        .then(" before the tasks that it depends on: ")
        .tasks(&blockers)
        .then(".")
        .instead("Wait for it or help with it. If the dependency no longer applies, remove it first.");
    Some(finding(Gate::UnfinishedDependencies, code, mode, about.unwrap_or_else(|| actor(case)), reason))
}

/// Who starts or completes a task, if the task or one that it waits for may be in this part.
pub fn needs(_: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    let update = update(case)?;
    let task = case.team.tasks.get(&update.task);
    if task.is_some_and(|task| task.status == update.status) {
        return None;
    }
    let waits_for =
        task.into_iter().flat_map(Task::blocked_by).chain(added_blockers(case).map(str::to_owned));
    let is_hidden = |id: &str| part.may_have_task(id) && !case.team.tasks.contains_key(id);
    let lacks = is_hidden(&update.task) || waits_for.into_iter().any(|id| is_hidden(&id));
    lacks.then(|| actor(case).to_owned())
}

/// The update, if it starts or completes a task.
fn update(facts: &Facts<'_>) -> Option<TaskUpdate> {
    let input = facts.event.calls(Tool::TaskUpdate).then(|| facts.event.payload.tool_input())?;
    let is_judged = |status: &TaskStatus| matches!(status, TaskStatus::InProgress | TaskStatus::Completed);
    TaskUpdate::of(input, &Value::Null).filter(|update| update.status.as_ref().is_some_and(is_judged))
}

fn added_blockers<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a str> {
    let added = facts.event.payload.tool_input().get("addBlockedBy").and_then(Value::as_array);
    added.into_iter().flatten().filter_map(Value::as_str)
}
