//! Starting or completing a task that waits for another.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{actor, finding};
use crate::config::Policy;
use crate::payload::{Kind, TaskUpdate};
use crate::policy::{Case, Finding, Reason};
use crate::team::Task;

const GATE: &str = "unfinished-dependencies";

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (payload, team, mode) = (case.event.payload, case.team, policy.unfinished_dependencies.mode);
    if case.event.kind != Kind::PreToolUse || payload.tool() != Some("TaskUpdate") {
        return None;
    }
    let update = TaskUpdate::of(payload.tool_input(), &Value::Null)?;
    let (code, doing) = match update.status.as_deref()? {
        "in_progress" => ("start-before-dependencies", "starting "),
        "completed" => ("completion-before-dependencies", "completing "),
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
        .then(" before what it waits for: ")
        .tasks(&blockers)
        .then(".")
        .instead(
            "Wait for it or help with it; if the order no longer holds, take the dependency away first.",
        );
    Some(finding(GATE, code, mode, whose.unwrap_or_else(|| actor(case)), reason))
}
