//! Starting or completing a task that depends on an unfinished one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{actor, finding};
use crate::config::{Gate, Policy};
use crate::model::{TaskStatus, Tool};
use crate::payload::{Kind, TaskUpdate};
use crate::policy::{Case, Finding, Part, Reason};
use crate::team::Task;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (payload, team, mode) = (case.event.payload, case.team, policy.unfinished_dependencies.mode);
    if case.event.kind != Kind::PreToolUse || payload.tool() != Some(Tool::TaskUpdate) {
        return None;
    }
    let update = TaskUpdate::of(payload.tool_input(), &Value::Null)?;
    let (code, doing) = match update.status.as_ref()? {
        TaskStatus::InProgress => ("start-before-dependencies", "starting "),
        TaskStatus::Completed => ("completion-before-dependencies", "completing "),
        _ => return None,
    };
    let task = team.tasks.get(&update.task)?;
    if task.status == update.status {
        return None;
    }
    let added = payload.tool_input().get("addBlockedBy").and_then(Value::as_array);
    let added = added.into_iter().flatten().filter_map(Value::as_str).filter_map(|id| team.tasks.get(id));
    let mut seen = BTreeSet::new();
    let blockers: Vec<&Task> = team
        .blockers(task)
        .chain(added.filter(|task| !task.is_done()))
        .filter(|blocker| blocker.id != task.id && seen.insert(&blocker.id))
        .collect();
    if blockers.is_empty() {
        return None;
    }
    let whose = case.event.actor.name.as_deref().or_else(|| case.names.owner(task));
    let reason = Reason::of(mode)
        .then(doing)
        .tasks(&[task])
        .then(" before the tasks that it depends on: ")
        .tasks(&blockers)
        .then(".")
        .instead("Wait for it or help with it. If the dependency no longer applies, remove it first.");
    Some(finding(Gate::UnfinishedDependencies, code, mode, whose.unwrap_or_else(|| actor(case)), reason))
}

/// Who starts or completes a task, if the task or one that it waits for may be in this part.
pub fn needs(_: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    let payload = case.event.payload;
    if case.event.kind != Kind::PreToolUse || payload.tool() != Some(Tool::TaskUpdate) {
        return None;
    }
    let update = TaskUpdate::of(payload.tool_input(), &Value::Null)?;
    if !matches!(update.status, Some(TaskStatus::InProgress | TaskStatus::Completed)) {
        return None;
    }
    let added = payload.tool_input().get("addBlockedBy").and_then(Value::as_array);
    let added = added.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let task = case.team.tasks.get(&update.task);
    if task.is_some_and(|task| task.status == update.status) {
        return None;
    }
    let waits_for = task.into_iter().flat_map(Task::blocked_by).chain(added);
    let is_hidden = |id: &str| part.may_have_task(id) && !case.team.tasks.contains_key(id);
    let lacks = is_hidden(&update.task) || waits_for.into_iter().any(|id| is_hidden(&id));
    lacks.then(|| actor(case).to_owned())
}
