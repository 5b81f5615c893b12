//! Going idle with work left.

use serde_json::Value;

use super::finding;
use super::idle::idler;
use crate::config::{IdleWithWork, Policy};
use crate::policy::{Facts, Finding, Reason, TeamState};
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
        let reason = Reason::of(settings.mode)
            .then("going idle while you own ")
            .tasks(&named)
            .then(".")
            .instead(&format!(
                "Go on with it, or complete it with TaskUpdate. If you wait for something, say for what: ask with SendMessage, or put \"{}\" into the task's metadata.",
                settings.waiting_key
            ));
        return Some(finding(GATE, "idle-with-task-in-progress", settings.mode, name, reason));
    }
    let free: Vec<&Task> = team.tasks.values().filter(|task| is_free(team, task)).collect();
    if free.is_empty() {
        return None;
    }
    let reason = Reason::of(settings.mode)
        .then("going idle while nobody has taken ")
        .tasks(&free)
        .then(".")
        .instead("Take one with TaskUpdate (owner: your name, status: in_progress), or tell the lead why you do not.");
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
