//! Going idle with work left.

use serde_json::Value;

use super::finding;
use super::idle::{goes_idle, idler};
use crate::config::{IdleWithWork, Mode, Policy};
use crate::policy::{Facts, Finding, TeamState};
use crate::team::Task;

const GATE: &str = "idle-with-work";

pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Option<Finding> {
    let (settings, team) = (&policy.idle_with_work, facts.team);
    let name = idler(facts)?;
    if waits(settings, team, name) {
        return None;
    }
    let held: Vec<&Task> = team.owned(name, "in_progress").collect();
    if !held.is_empty() {
        let free: Vec<&Task> =
            held.iter().copied().filter(|task| !is_held_up(settings, team, task)).collect();
        let named = if free.is_empty() { held } else { free };
        let key = &settings.waiting_key;
        let reason =
            goes_idle(settings.mode, name, " while owning ", " while you own ").tasks(&named).then(".");
        let reason = reason.instead(&match settings.mode {
            Mode::Block => format!(
                "Go on with it, or complete it with TaskUpdate. If you wait for something, say for what: ask with SendMessage, or put \"{key}\" into the task's metadata."
            ),
            _ => format!(
                "A message from the lead wakes it; a teammate that waits for something can put \"{key}\" into the task's metadata."
            ),
        });
        return Some(finding(GATE, "idle-with-task-in-progress", settings.mode, name, reason));
    }
    let free: Vec<&Task> = team.tasks.values().filter(|task| is_free(team, task)).collect();
    if free.is_empty() {
        return None;
    }
    let while_free = " while nobody has taken ";
    let reason = goes_idle(settings.mode, name, while_free, while_free).tasks(&free).then(".");
    let reason = reason.instead(match settings.mode {
        Mode::Block => {
            "Take one with TaskUpdate (owner: your name, status: in_progress), or tell the lead why you do not."
        }
        _ => "The lead can give it to somebody with TaskUpdate.",
    });
    Some(finding(GATE, "idle-with-free-task", settings.mode, name, reason))
}

/// Whether it waits: for an answer, or because each of its tasks is held up.
fn waits(settings: &IdleWithWork, team: &TeamState, name: &str) -> bool {
    let mut own = team.owned(name, "in_progress").chain(team.owned(name, "pending")).peekable();
    team.ledger.of(name).awaits_answer()
        || (own.peek().is_some() && own.all(|task| is_held_up(settings, team, task)))
}

/// Whether a task waits for another, or its owner says that it waits.
fn is_held_up(settings: &IdleWithWork, team: &TeamState, task: &Task) -> bool {
    let said = task.raw.get("metadata").and_then(|metadata| metadata.get(&settings.waiting_key));
    let waits = said.is_some_and(|said| !matches!(said, Value::Null | Value::Bool(false)) && said != "");
    waits || team.blockers(task).next().is_some()
}

fn is_free(team: &TeamState, task: &Task) -> bool {
    task.status.as_deref() == Some("pending") && task.owner.is_none() && team.blockers(task).next().is_none()
}
