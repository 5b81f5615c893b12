//! The content of the ledger.

use serde_json::{Value, json};

use super::scene::{Scene, after, approve, ask, before, lead, mate};
use crate::{Ledger, MemberActivity};
use teamkeep_model::event::{Actor, ActorKind, MAX_ENTRIES};

fn bob(scene: &Scene) -> MemberActivity {
    scene.team.ledger.of("bob").clone()
}

/// The same payload with another tool_use_id.
fn used(mut fields: Value, id: &str) -> Value {
    fields["tool_use_id"] = json!(id);
    fields
}

#[test]
fn names_and_ids_that_are_too_long_are_not_kept() {
    let (mut scene, long) = (Scene::with(&[]), "x".repeat(257));
    for input in [json!({"name": long}), json!({"to": long, "message": "Is it?"}), json!({"task_id": long})] {
        for tool in ["Agent", "SendMessage", "TaskStop"] {
            let mut spawned = after(tool, input.clone());
            scene.happens(&lead(), &used(before(tool, input.clone()), &long));
            scene.happens(&mate(&long), &before(tool, input.clone()));
            spawned["tool_response"] = json!({"status": "teammate_spawned", "name": long, "agent_id": long});
            scene.happens(&lead(), &spawned);
        }
    }
    let owns = json!({"taskId": long, "owner": long, "status": "completed"});
    scene.happens(&lead(), &before("TaskUpdate", owns.clone()));
    scene.happens(&lead(), &after("TaskUpdate", owns));
    scene.happens(
        &lead(),
        &json!({"hook_event_name": "Stop", "background_tasks": [{"id": long, "type": "teammate"}]}),
    );
    let kept = serde_json::to_string(&scene.team.ledger).unwrap();
    assert!(!kept.contains(&long), "{kept}");
}

#[test]
fn both_shapes_of_a_message_are_noted_for_recipient_and_sender() {
    for input in [
        json!({"to": "bob", "message": "Is it good?"}),
        json!({"type": "message", "recipient": "bob", "content": "Is it good?"}),
        json!({"type": "broadcast", "content": "Is it good?"}),
    ] {
        let mut scene = Scene::with(&[]);
        scene.team.ledger.members.insert("bob".to_owned(), MemberActivity::default());
        let mut sent = after("SendMessage", input);
        sent["tool_response"]["routing"] = json!({"sender": "alice"});
        scene.happens(&Actor::unknown(), &sent);
        assert!(
            bob(&scene).last_instruction().is_some()
                && bob(&scene).last_message.is_none()
                && bob(&scene).has_unreported_work(false)
        );
        let alice = scene.team.ledger.of("alice");
        assert!(alice.awaits_answer_from().next().is_some() && alice.last_instruction().is_none());
    }
}

#[test]
fn an_answer_that_is_recorded_before_its_question_counts() {
    let mut scene = Scene::with(&[]);
    let (question, answer) =
        (json!({"to": "alice", "message": "Which?"}), json!({"to": "bob", "message": "This."}));
    scene.happens(&mate("bob"), &used(before("SendMessage", question.clone()), "q"));
    scene.happens(&mate("alice"), &used(before("SendMessage", answer.clone()), "a"));
    scene.happens(&mate("alice"), &used(after("SendMessage", answer), "a"));
    scene.happens(&mate("bob"), &used(after("SendMessage", question), "q"));
    assert!(bob(&scene).awaits_answer_from().next().is_none() && bob(&scene).has_unreported_work(false));
    assert!(scene.team.ledger.pending.is_empty());
}

#[test]
fn a_message_that_was_not_sent_is_not_an_instruction() {
    let mut scene = Scene::with(&[]);
    let mut failed = after("SendMessage", json!({"to": "bob", "message": "Go on."}));
    failed["tool_response"]["success"] = json!(false);
    scene.happens(&lead(), &failed);
    assert_eq!(scene.team.ledger, Ledger::default());
}

#[test]
fn an_assigned_task_is_an_instruction_unless_the_owner_took_it() {
    let mut scene = Scene::with(&[]);
    let take = json!({"taskId": "1", "owner": "bob", "status": "in_progress"});
    scene.happens(&mate("bob"), &after("TaskUpdate", take.clone()));
    scene.happens(&Actor::unknown(), &after("TaskUpdate", take));
    assert_eq!(bob(&scene).last_instruction(), None);
    assert!(scene.team.ledger.tasked);
    scene.happens(&lead(), &after("TaskUpdate", json!({"taskId": "1", "owner": "bob"})));
    assert!(bob(&scene).has_unreported_work(false));
}

#[test]
fn a_spawn_is_an_instruction_and_its_first_turn_may_start_before_it_returns() {
    let mut scene = Scene::with(&[]);
    let input = json!({"name": "bob", "description": "Review it"});
    let role = Actor { name: Some("bob".to_owned()), id: None, kind: ActorKind::Subagent };
    scene.happens(&role, &json!({"hook_event_name": "SubagentStart"}));
    assert!(!scene.team.ledger.works("bob"), "a plain subagent of that role is not bob");
    scene.happens(&lead(), &used(before("Agent", input.clone()), "s"));
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    scene.says(&mate("bob"), "team-lead", "Done.");
    let mut spawned = used(after("Agent", input), "s");
    spawned["tool_response"] = json!({"status": "teammate_spawned", "name": "bob", "agent_id": "abob-1"});
    scene.happens(&lead(), &spawned);
    assert!(
        scene.team.ledger.works("bob")
            && bob(&scene).last_instruction().is_some()
            && !bob(&scene).has_unreported_work(false)
    );
    assert_eq!(scene.team.ledger.member("abob-1"), "bob");
}

#[test]
fn a_teammate_is_stopping_from_the_request_until_its_answer() {
    let mut scene = Scene::with(&[]);
    scene.happens(&lead(), &after("SendMessage", ask("bob")));
    assert!(bob(&scene).stopping && bob(&scene).last_instruction().is_none());
    let refusal = json!({"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": false, "content": "no"});
    scene.happens(&Actor::unknown(), &after("SendMessage", refusal));
    assert!(!bob(&scene).stopping);
    scene.happens(&mate("bob"), &after("SendMessage", approve("bob")));
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStop"}));
    assert!(!scene.team.ledger.members.contains_key("bob"));
}

#[test]
fn the_end_of_a_pane_removes_its_member_and_team_delete_all_members() {
    let mut scene = Scene::with(&[]);
    scene.says(&lead(), "bob", "Go on.");
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SessionEnd"}));
    assert!(!scene.team.ledger.members.contains_key("bob"));
    scene.happens(&lead(), &after("TeamDelete", json!({})));
    let order = scene.team.ledger.order;
    assert_eq!(scene.team.ledger, Ledger { order, ..Ledger::default() });
}

#[test]
fn a_completion_that_never_returned_ends_with_the_turn() {
    let mut scene = Scene::with(&[]);
    let complete = used(before("TaskUpdate", json!({"taskId": 2, "status": "completed"})), "c");
    scene.happens(&mate("bob"), &complete);
    assert_eq!(scene.team.ledger.pending_completions["c"], "2");
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStop"}));
    assert_eq!(scene.team.ledger.pending_completions.len(), 1);
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStop"}));
    assert!(scene.team.ledger.pending_completions.is_empty());
    scene.happens(&mate("bob"), &complete);
    scene.happens(&mate("bob"), &used(after("TaskUpdate", json!({"taskId": 2, "status": "completed"})), "c"));
    assert!(scene.team.ledger.pending_completions.is_empty());
}

#[test]
fn the_number_of_pending_calls_is_limited() {
    let mut scene = Scene::with(&[]);
    for id in 0..2000 {
        let complete = before("TaskUpdate", json!({"taskId": "2", "status": "completed"}));
        scene.happens(&Actor::unknown(), &used(complete, &format!("t{id}")));
    }
    assert!(
        scene.team.ledger.pending.len() <= MAX_ENTRIES
            && scene.team.ledger.pending_completions.len() <= MAX_ENTRIES
    );
}

#[test]
fn the_oldest_pending_call_is_dropped_and_a_completion_last() {
    let mut scene = Scene::with(&[]);
    let say = |id: &str| used(before("SendMessage", json!({"to": "bob", "message": "Go on."})), id);
    scene.happens(&Actor::unknown(), &say("z"));
    let complete = before("TaskUpdate", json!({"taskId": "2", "status": "completed"}));
    scene.happens(&Actor::unknown(), &used(complete, "a"));
    for id in 0..MAX_ENTRIES - 1 {
        scene.happens(&Actor::unknown(), &say(&format!("m{id:03}")));
    }
    assert!(!scene.team.ledger.pending.contains_key("z"), "the oldest has the greatest id");
    scene.happens(&Actor::unknown(), &say("n"));
    assert!(!scene.team.ledger.pending.contains_key("m000"));
    assert_eq!(scene.team.ledger.pending_completions["a"], "2");
}

#[test]
fn a_ledger_is_read_as_it_was_written_and_an_older_one_as_well() {
    let mut scene = Scene::with(&[]);
    scene.says(&lead(), "bob", "Go on?");
    scene.happens(&mate("bob"), &before("TaskUpdate", json!({"taskId": "2", "status": "completed"})));
    let text = serde_json::to_string(&scene.team.ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), scene.team.ledger);
    assert_eq!(serde_json::from_str::<Ledger>("{}").unwrap(), Ledger::default());
}

#[test]
fn a_turn_that_failed_has_ended_and_its_calls_did_not_return() {
    let mut scene = Scene::with(&[]);
    let complete = before("TaskUpdate", json!({"taskId": "2", "status": "completed"}));
    scene.happens(&mate("bob"), &used(complete, "u"));
    let failed = json!({"hook_event_name": "StopFailure", "error": "rate_limit"});
    for other in [lead(), Actor { kind: ActorKind::Helper, ..Actor::unknown() }] {
        scene.happens(&other, &failed);
        assert!(scene.team.ledger.works("bob"), "{other:?}");
    }
    scene.happens(&mate("bob"), &failed);
    let ledger = &scene.team.ledger;
    assert!(ledger.pending.is_empty() && ledger.pending_completions.is_empty());
    assert!(
        !scene.team.ledger.works("bob") && bob(&scene).idle.is_some(),
        "no other hook reports that it is idle"
    );
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    assert!(scene.team.ledger.works("bob") && bob(&scene).idle.is_none());
}

#[test]
fn a_session_that_waits_for_its_user_has_no_open_calls() {
    let mut scene = Scene::with(&[]);
    scene.happens(&lead(), &used(before("SendMessage", json!({"to": "bob", "message": "Go on."})), "u"));
    let waits = |word: &str| json!({"hook_event_name": "Notification", "notification_type": word});
    scene.happens(&lead(), &waits("permission_prompt"));
    assert_eq!(scene.team.ledger.pending.len(), 1);
    scene.happens(&lead(), &waits("idle_prompt"));
    assert!(scene.team.ledger.pending.is_empty());
}
