//! Completing a task whose checks fail: which checks there are. They are run elsewhere.

use crate::config::{Check, Mode, Policy};
use crate::payload::Kind;
use crate::policy::{Facts, pattern};

/// The checks that a completion has to pass; none where nothing is completed.
pub fn due<'a>(policy: &'a Policy, facts: &Facts<'_>) -> Vec<&'a Check> {
    let settings = &policy.completion_check;
    if settings.mode == Mode::Off || settings.check.is_empty() || !is_completion(facts) {
        return Vec::new();
    }
    let payload = facts.event.payload;
    let task = payload.text("task_id").and_then(|id| facts.team.tasks.get(id));
    let subject = task.and_then(|task| task.subject.as_deref()).or_else(|| payload.text("task_subject"));
    let owner = task.and_then(|task| task.owner.as_deref()).or_else(|| payload.text("teammate_name"));
    let team = facts.team.name.as_deref();
    let meant = |pattern: &str, text: Option<&str>| pattern::glob(pattern, text.unwrap_or_default());
    let due = settings.check.iter().filter(|check| {
        meant(&check.subject, subject) && meant(&check.owner, owner) && meant(&check.team, team)
    });
    due.collect()
}

/// The client tells the same of a task that is completed and of a turn that ends while its owner has one in progress.
/// In a completion a TaskUpdate has begun that asks for it, and the turn has not ended.
fn is_completion(facts: &Facts<'_>) -> bool {
    let (event, ledger) = (&facts.event, &facts.team.ledger);
    if event.kind != Kind::TaskCompleted {
        return false;
    }
    let named = event.payload.text("teammate_name").filter(|name| !name.is_empty());
    let turn_ended = named.and_then(|name| ledger.members.get(name)).is_some_and(|deeds| !deeds.turn);
    let asked =
        event.payload.text("task_id").is_some_and(|id| ledger.completing.values().any(|task| task == id));
    asked && !turn_ended
}
