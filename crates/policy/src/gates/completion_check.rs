//! Selects the checks for a completed task. Another module runs them.

use crate::Case;
use teamkeep_config::pattern::matches;
use teamkeep_config::{Check, Mode, Policy};

/// The checks that a completion must pass; none if the event is not a completion.
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
