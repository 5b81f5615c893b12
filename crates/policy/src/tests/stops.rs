//! TaskStop with the id of a background task.

use serde_json::{Value, json};

use super::scene::{Scene, before, lead, mate};
use crate::Decision;
use teamkeep_model::event::MAX_ENTRIES;

const BLOCK: Decision = Decision::Block;
const WARN: Decision = Decision::Warn;

fn spawn(scene: &mut Scene, name: &str, words: &str) {
    let spawned = json!({"hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_use_id": name,
        "tool_input": {"name": name, "description": words},
        "tool_response": {"status": "teammate_spawned", "name": name, "agent_id": format!("a{name}-1")}});
    scene.happens(&lead(), &spawned);
}

fn list(scene: &mut Scene, tasks: &[(&str, &str)]) {
    let tasks: Vec<Value> = tasks
        .iter()
        .map(|(id, words)| json!({"id": id, "type": "teammate", "status": "running", "description": words}))
        .collect();
    scene.happens(&lead(), &json!({"hook_event_name": "Stop", "background_tasks": tasks}));
}

fn stopped(scene: &mut Scene, id: &str) -> Vec<(&'static str, Decision)> {
    scene.codes(&lead(), &before("TaskStop", json!({"task_id": id})))
}

#[test]
fn a_background_task_that_is_described_by_a_name_is_that_teammate() {
    let mut scene = Scene::with(&[("2", "in_progress", "bob", &[])]);
    spawn(&mut scene, "alice", "Draft it");
    spawn(&mut scene, "bob", "Review it");
    list(&mut scene, &[("t1", "alice: ACTOR:alice You are alice"), ("t2", "bob: ACTOR:bob You are bob")]);
    assert_eq!(stopped(&mut scene, "t2"), [("stop-of-busy-teammate", BLOCK)]);
    assert!(stopped(&mut scene, "t1").is_empty());
    // The description of a spawn decides first: it can begin like a name.
    spawn(&mut scene, "carol", "bob: look what he does");
    list(&mut scene, &[("t3", "bob: look what he does")]);
    assert!(stopped(&mut scene, "t3").is_empty());
}

#[test]
fn a_stop_of_one_of_several_is_blocked_if_none_has_finished_and_warned_if_some_have() {
    let mut scene = Scene::with(&[("2", "in_progress", "bob", &[])]);
    for name in ["alice", "bob"] {
        spawn(&mut scene, name, "worker");
    }
    list(&mut scene, &[("t1", "worker"), ("t2", "worker"), ("t3", "nobody knows")]);
    for id in ["t1", "t2", "t3"] {
        assert_eq!(stopped(&mut scene, id), [("stop-of-busy-teammate", WARN)], "{id}");
    }
    scene.task(json!({"id": "1", "status": "in_progress", "owner": "alice"}));
    assert_eq!(stopped(&mut scene, "t1"), [("stop-of-busy-teammate", BLOCK)]);
    assert_eq!(stopped(&mut scene, "t3"), [("stop-of-busy-teammate", WARN)], "it may be carol");
    let found = scene.judge(&lead(), &before("TaskStop", json!({"task_id": "t1"})));
    assert!(found[0].text().contains("stopping t1, which may be "), "{}", found[0].text());
    // A member that has left is finished, whatever the state of its tasks. An id listed from then on belongs to another agent.
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SessionEnd"}));
    assert_eq!(stopped(&mut scene, "t1"), [("stop-of-busy-teammate", WARN)], "it may have been alice's");
    list(&mut scene, &[("t2", "worker")]);
    assert_eq!(stopped(&mut scene, "t2"), [("stop-of-busy-teammate", BLOCK)]);
    assert_eq!(stopped(&mut scene, "t1"), [("stop-of-busy-teammate", WARN)]);
    scene.task(json!({"id": "2", "status": "completed", "owner": "bob"}));
    assert!(stopped(&mut scene, "t2").is_empty());
}

#[test]
fn an_unlisted_id_in_the_form_of_a_teammate_s_is_warned_about() {
    let mut scene = Scene::with(&[("2", "in_progress", "bob", &[])]);
    assert_eq!(stopped(&mut scene, "tq3k2"), [("stop-of-busy-teammate", WARN)]);
    for other in ["b77", "bash_1", "a828a7acb7ed848eb", "t 1", "team-lead"] {
        assert!(stopped(&mut scene, other).is_empty(), "{other}");
    }
    scene.task(json!({"id": "2", "status": "completed", "owner": "bob"}));
    assert!(stopped(&mut scene, "tq3k2").is_empty());
}

#[test]
fn the_number_of_background_ids_is_limited() {
    let mut scene = Scene::with(&[]);
    for number in 0..600 {
        list(&mut scene, &[(&format!("t{number}"), "nobody knows")]);
    }
    assert!(scene.team.ledger.background.len() <= MAX_ENTRIES);
}
