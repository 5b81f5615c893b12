//! The gates for a task that is completed or started: completion-check and unfinished-dependencies.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Case, Finding, Reason};
use teamkeep_config::pattern::matches;
use teamkeep_config::{Check, Gate, Mode, Policy};
use teamkeep_model::TaskStatus;
use teamkeep_model::payload::TaskUpdate;
use teamkeep_model::team::Task;

/// The checks that a completion must pass; none if the event is not a completion. Another module runs them.
pub fn due<'a>(policy: &'a Policy, case: &Case<'_>) -> Vec<&'a Check> {
    let settings = &policy.completion_check;
    if settings.mode == Mode::Off || settings.check.is_empty() || !case.is_completion() {
        return Vec::new();
    }
    let payload = case.event.payload;
    let task = payload.text("task_id").and_then(|id| case.team.tasks.get(id));
    let subject = task.and_then(|task| task.subject.as_deref()).or_else(|| payload.text("task_subject"));
    let owner = task.and_then(|task| case.owner(task)).or_else(|| payload.text("teammate_name"));
    let team = case.team.name.as_deref();
    let due = settings.check.iter().filter(|check| {
        let globs = [(&check.subject, subject), (&check.owner, owner), (&check.team, team)];
        globs.into_iter().all(|(glob, text)| matches(glob, text.unwrap_or_default()))
    });
    due.collect()
}

/// Starting or completing a task that depends on an unfinished one.
pub(super) fn unfinished_dependencies(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Change, JudgedEvent, Sign, TeamState};
    use teamkeep_model::event::Actor;
    use teamkeep_model::payload::Payload;
    use teamkeep_model::time::Timestamp;

    /// Whether bob's task counts as completed, with a TaskUpdate in the ledger.
    fn completes(signs: &[Sign], names_agents: bool) -> bool {
        let fields = json!({"hook_event_name": "TaskCompleted", "task_id": "1", "teammate_name": "bob"});
        let payload = Payload::from_raw(&serde_json::value::to_raw_value(&fields).unwrap());
        let mut team = TeamState::default();
        team.ledger.names_agents = names_agents;
        team.ledger.pending_completions.insert("t".to_owned(), "1".to_owned());
        team.ledger.members.entry("bob".to_owned()).or_default();
        for sign in signs {
            team.ledger.live.apply(Timestamp::default(), Change::sign("bob", *sign));
        }
        let (actor, kind) = (Actor::unknown(), payload.kind());
        let event =
            JudgedEvent { at: Timestamp::default(), kind, actor: &actor, payload: &payload, access: None };
        Case::new(event, &team).is_completion()
    }

    #[test]
    fn a_turn_counts_as_ended_only_if_its_start_could_be_seen() {
        let [joined, working, idle]: [&[Sign]; 3] =
            [&[Sign::Joins], &[Sign::StartsTurn], &[Sign::StartsTurn, Sign::EndsTurn]];
        assert!(completes(joined, false) && completes(&[], false), "the client names no agents");
        assert!(completes(working, false) && completes(working, true));
        assert!(!completes(idle, false) && !completes(joined, true));
    }
}
