//! Going idle with work left.

use serde_json::Value;

use super::finding;
use super::idle_teammate::{goes_idle, idler};
use crate::config::{Gate, IdleWithWork, Mode, Policy};
use crate::model::TaskStatus;
use crate::policy::{Case, Finding, Part, TeamState};
use crate::team::Task;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (settings, team) = (&policy.idle_with_work, case.team);
    let name = idler(case)?;
    if waits(settings, case, name) {
        return None;
    }
    let named: Vec<&Task> = case
        .names
        .owned(name, &TaskStatus::InProgress)
        .into_iter()
        .filter(|task| !is_held_up(settings, team, task))
        .collect();
    if !named.is_empty() {
        let key = &settings.waiting_key;
        let reason =
            goes_idle(settings.mode, name, " while owning ", " while you own ").tasks(&named).then(".");
        let reason = reason.instead(&match settings.mode {
            Mode::Block => format!(
                "Continue it, or complete it with TaskUpdate. If you are waiting, ask with SendMessage, or add \"{key}\" to the task's metadata with TaskUpdate."
            ),
            _ => format!(
                "A message starts its next turn. A teammate that is waiting can add \"{key}\" to the task's metadata."
            ),
        });
        return Some(finding(Gate::IdleWithWork, "idle-with-task-in-progress", settings.mode, name, reason));
    }
    let free: Vec<&Task> = team.tasks.values().filter(|task| is_free(case, task)).collect();
    if free.is_empty() {
        return None;
    }
    let while_free = " although this task is unassigned: ";
    let reason = goes_idle(settings.mode, name, while_free, while_free).tasks(&free).then(".");
    let reason = reason.instead(match settings.mode {
        Mode::Block => {
            "Take one with TaskUpdate (owner: your name, status: in_progress), or send the lead a message with the reason why not."
        }
        _ => "The lead can assign it with TaskUpdate.",
    });
    Some(finding(Gate::IdleWithWork, "idle-with-free-task", settings.mode, name, reason))
}

/// The teammate that goes idle, if tasks or its inbox may be in this part.
pub fn needs(_: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    idler(case).filter(|name| part.has_tasks() || part.may_have_inbox(name)).map(str::to_owned)
}

/// Whether the teammate waits: for an answer, or because every task in progress (or, without one, every pending task)
/// is blocked or marked as waiting.
fn waits(settings: &IdleWithWork, case: &Case<'_>, name: &str) -> bool {
    let team = case.team;
    let all_held_up = |status: &TaskStatus| {
        let tasks = case.names.owned(name, status);
        (!tasks.is_empty()).then(|| tasks.iter().all(|task| is_held_up(settings, team, task)))
    };
    team.ledger.of(name).awaits_answer()
        || all_held_up(&TaskStatus::InProgress).or_else(|| all_held_up(&TaskStatus::Pending)).unwrap_or(false)
}

/// Whether a task is blocked by another or marked as waiting.
fn is_held_up(settings: &IdleWithWork, team: &TeamState, task: &Task) -> bool {
    says_that_it_waits(settings, task) || team.blockers(task).next().is_some()
}

/// Whether the owner marked the task as waiting in its metadata.
pub fn says_that_it_waits(settings: &IdleWithWork, task: &Task) -> bool {
    let said = task.raw.get("metadata").and_then(|metadata| metadata.get(&settings.waiting_key));
    said.is_some_and(|said| !matches!(said, Value::Null | Value::Bool(false)) && said != "")
}

fn is_free<'a>(case: &Case<'a>, task: &'a Task) -> bool {
    task.status == Some(TaskStatus::Pending)
        && case.names.owner(task).is_none()
        && case.team.blockers(task).next().is_none()
}
