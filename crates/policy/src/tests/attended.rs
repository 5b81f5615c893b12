//! Which agents are working when the lead's turn ends.

use serde_json::{Value, json};

use super::scene::{Scene, after, ask, before, idle, lead, mate};
use super::trace::play;
use teamkeep_config::{Gate, Mode, Policy};

/// Stop of the lead, with this list of background tasks.
fn stop(tasks: Value) -> Value {
    json!({"hook_event_name": "Stop", "background_tasks": tasks})
}

fn listed(words: &str) -> Value {
    json!([{"id": "t1", "type": "teammate", "status": "running", "description": words}])
}

/// bob was spawned, has task 2 in progress, and is listed as running.
fn spawned() -> Scene {
    let mut scene = Scene::with(&[("2", "in_progress", "bob", &[])]);
    scene.policy.lead_stops_early.mode = Mode::Block;
    let spawn = json!({"hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_use_id": "s",
        "tool_input": {"name": "bob", "description": "Review it"},
        "tool_response": {"status": "teammate_spawned", "name": "bob", "agent_id": "abob-12"}});
    scene.happens(&lead(), &spawn);
    scene
}

fn refused(scene: &mut Scene) -> bool {
    !scene.codes(&lead(), &stop(listed("Review it"))).is_empty()
}

#[test]
fn an_idle_teammate_is_not_working_although_it_is_listed_as_running() {
    let (mut scene, bob) = (spawned(), mate("bob"));
    assert!(!refused(&mut scene), "its first turn is yet to begin");
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStart"}));
    assert!(!refused(&mut scene));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStop"}));
    assert!(!refused(&mut scene), "it may be kept from its idle");
    scene.happens(&bob, &idle("bob"));
    assert!(refused(&mut scene));
    scene.says(&lead(), "bob", "Go on.");
    assert!(!refused(&mut scene), "it will wake");
}

#[test]
fn a_message_during_a_turn_is_read_in_the_next() {
    let (mut scene, bob) = (spawned(), mate("bob"));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStart"}));
    scene.says(&mate("alice"), "bob", "It is ready.");
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&bob, &idle("bob"));
    assert!(!refused(&mut scene), "its inbox is empty, and its next turn begins");
    // In a pane only the end of a turn may be reported.
    scene.happens(&bob, &json!({"hook_event_name": "Stop"}));
    assert!(!refused(&mut scene));
    scene.happens(&bob, &idle("bob"));
    assert!(refused(&mut scene));
}

#[test]
fn a_teammate_with_a_blocked_idle_with_mail_or_asked_to_stop_is_working() {
    let (mut scene, bob) = (spawned(), mate("bob"));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStart"}));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStop"}));
    scene.is_held_back(&bob, &idle("bob"));
    assert!(!refused(&mut scene), "its idle was refused");
    scene.team.mail.insert("bob".to_owned(), 1);
    scene.happens(&bob, &idle("bob"));
    scene.team.mail.clear();
    assert!(!refused(&mut scene), "it had mail when it went idle");
    scene.happens(&bob, &idle("bob"));
    assert!(refused(&mut scene));
    scene.happens(&lead(), &after("SendMessage", ask("bob")));
    assert!(!refused(&mut scene), "it is to answer");
}

#[test]
fn a_running_teammate_is_known_by_its_description_or_name() {
    for (words, is_bob) in [("Review it", true), ("bob: You are bob", true), ("nobody knows", true)] {
        let mut scene = spawned();
        assert_eq!(scene.codes(&lead(), &stop(listed(words))).is_empty(), is_bob, "{words}");
    }
    let mut scene = spawned();
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStart"}));
    assert_eq!(scene.codes(&lead(), &stop(listed("alice: You are alice"))).len(), 1);
    assert_eq!(scene.codes(&lead(), &stop(json!([]))).len(), 1);
}

#[test]
fn a_task_of_the_lead_may_be_a_subagent_s_and_an_unassigned_one_anyone_s() {
    let mut scene = spawned();
    let subagent = json!([{"id": "a1", "type": "subagent", "status": "running", "description": "Look"}]);
    for task in [
        json!({"id": "2", "status": "in_progress", "owner": "team-lead"}),
        json!({"id": "2", "status": "in_progress"}),
    ] {
        scene.task(task);
        assert_eq!(scene.codes(&lead(), &stop(json!([]))).len(), 1);
        assert!(scene.codes(&lead(), &stop(subagent.clone())).is_empty());
    }
    scene.happens(&mate("carol"), &before("Read", json!({})));
    assert!(scene.codes(&lead(), &stop(json!([]))).is_empty(), "carol may be at it");
}

#[test]
fn a_task_that_waits_for_one_in_work_is_attended() {
    let (mut scene, bob) = (spawned(), mate("bob"));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStart"}));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&bob, &idle("bob"));
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStart"}));
    assert!(refused(&mut scene), "alice is at work on nothing of bob's");
    scene.task(json!({"id": "1", "status": "in_progress", "owner": "alice"}));
    scene.task(json!({"id": "3", "status": "pending", "owner": "carol", "blockedBy": ["1", "2"]}));
    scene.task(json!({"id": "2", "status": "in_progress", "owner": "bob", "blockedBy": ["3"]}));
    assert!(!refused(&mut scene), "it waits for carol's, and that for alice's");
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&mate("alice"), &idle("alice"));
    let found = scene.judge(&lead(), &stop(listed("Review it")));
    assert!(found[0].text().contains("task 1 ") && found[0].text().contains("task 2 "));
    scene.team.mail.insert("team-lead".to_owned(), 1);
    assert!(!refused(&mut scene), "the lead has mail");
}

#[test]
fn a_task_whose_owner_waits_is_attended() {
    let (mut scene, bob) = (spawned(), mate("bob"));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStart"}));
    scene.says(&bob, "team-lead", "X or Y?");
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&bob, &idle("bob"));
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStart"}));
    assert!(refused(&mut scene), "the lead owes it an answer");
    scene.says(&bob, "alice", "Is it there?");
    assert!(!refused(&mut scene), "alice will answer");
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&mate("alice"), &idle("alice"));
    scene.says(&mate("alice"), "bob", "It is.");
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStart"}));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&bob, &idle("bob"));
    assert!(refused(&mut scene));
    scene.task(
        json!({"id": "2", "status": "in_progress", "owner": "bob", "metadata": {"waiting": "the user"}}),
    );
    assert!(!refused(&mut scene), "it says so");
}

#[test]
fn a_task_of_the_lead_waits_for_a_teammate_that_it_asked() {
    let mut scene = spawned();
    scene.task(json!({"id": "2", "status": "in_progress", "owner": "team-lead"}));
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStart"}));
    assert!(refused(&mut scene));
    scene.says(&lead(), "alice", "Is the parser right?");
    assert!(!refused(&mut scene), "alice will answer");
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&mate("alice"), &idle("alice"));
    assert!(!refused(&mut scene), "it reads the question in its next turn");
    scene.says(&mate("alice"), "team-lead", "It is.");
    assert!(refused(&mut scene), "it is the lead's again");
}

#[test]
fn an_owner_that_is_not_a_teammate_is_not_checked() {
    let mut scene = spawned();
    let give = after("TaskUpdate", json!({"taskId": "2", "owner": "researcher"}));
    scene.happens(&lead(), &give);
    scene.task(json!({"id": "2", "status": "in_progress", "owner": "researcher"}));
    assert!(scene.codes(&lead(), &stop(json!([]))).is_empty());
    scene.task(json!({"id": "2", "status": "in_progress", "owner": "bob"}));
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SessionEnd"}));
    scene.team.members.retain(|name| name != "bob");
    assert_eq!(scene.codes(&lead(), &stop(json!([]))).len(), 1, "bob was one, and has left");
}

#[test]
fn without_a_list_a_spawned_teammate_counts_as_working() {
    let (mut scene, end) = (spawned(), json!({"hook_event_name": "Stop"}));
    assert!(scene.codes(&lead(), &end).is_empty());
    scene.task(json!({"id": "2", "status": "in_progress", "owner": "alice"}));
    assert_eq!(scene.codes(&lead(), &end).len(), 1, "alice was told nothing");
}

#[test]
fn the_lead_of_a_recorded_run_is_blocked_when_nobody_works() {
    let mut policy = Policy::default();
    policy.lead_stops_early.mode = Mode::Block;
    let mut told = String::new();
    for name in ["v47-inprocess", "v177-inprocess", "v328-inprocess", "v328-panes", "v328-gc", "v328-notasks"]
    {
        for found in play(name, &policy, |_| {}) {
            for finding in found.findings.iter().filter(|finding| finding.gate == Gate::LeadStopsEarly) {
                assert!(finding.text().contains("task 2 "), "{}", finding.text());
                told += &format!("{name} {}\n", found.step);
            }
        }
    }
    insta::assert_snapshot!(told, @r"
    v47-inprocess 71
    v328-inprocess 66
    v328-inprocess 71
    v328-inprocess 76
    v328-panes 64
    v328-gc 77
    ");
}

/// bob has gone idle after its turn.
fn idle_bob() -> Scene {
    let (mut scene, bob) = (spawned(), mate("bob"));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStart"}));
    scene.happens(&bob, &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&bob, &idle("bob"));
    scene
}

#[test]
fn a_teammate_with_unread_messages_will_work() {
    let mut scene = idle_bob();
    assert!(refused(&mut scene));
    scene.team.mail.insert("bob".to_owned(), 1);
    assert!(!refused(&mut scene));
}

#[test]
fn a_question_is_attended_while_an_agent_that_was_asked_works() {
    let mut scene = idle_bob();
    let works = |scene: &mut Scene, name: &str| {
        scene.happens(&mate(name), &json!({"hook_event_name": "SubagentStart"}));
    };
    scene.says(&mate("bob"), "alice", "Is it there?");
    assert!(refused(&mut scene), "alice never worked");
    works(&mut scene, "carol");
    assert!(refused(&mut scene), "carol was not asked");
    scene.says(&mate("bob"), "*", "Who has it?");
    assert!(!refused(&mut scene), "carol may have it");
}

#[test]
fn without_a_roster_an_unassigned_task_is_attended_while_any_teammate_runs() {
    let mut scene = Scene::with(&[("2", "in_progress", "", &[])]);
    scene.policy.lead_stops_early.mode = Mode::Block;
    let stops = |scene: &mut Scene, tasks: Value| scene.codes(&lead(), &stop(tasks)).is_empty();
    scene.team.members.clear();
    assert!(stops(&mut scene, listed("Review it")), "some teammate");
    assert!(!stops(&mut scene, json!([])));
    // A teammate that is known and listed.
    scene.team.ledger.spawned_for.insert(crate::ledger::mark("Review it"), vec!["alice".to_owned()]);
    assert!(stops(&mut scene, listed("Review it")));
    let mut scene = idle_bob();
    scene.task(json!({"id": "2", "status": "in_progress"}));
    assert!(refused(&mut scene), "with a roster it is known that the listed one is idle");
}
