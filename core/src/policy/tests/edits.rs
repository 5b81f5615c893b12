//! Two agents edit one file.

use serde_json::{Value, json};

use super::scene::{Scene, after, before, idle, lead, mate};
use crate::config::Mode;
use crate::model::event::{Actor, ActorKind};
use crate::policy::{Decision, FileHistory};

const FILE: &str = "/repo/src/parser.rs";

/// alice has a task in progress.
fn scene() -> Scene {
    let mut scene = Scene::with(&[("1", "in_progress", "alice", &[])]);
    scene.policy.edit_collision.mode = Mode::Block;
    scene
}

fn file() -> Value {
    json!({"file_path": FILE})
}

fn edit() -> Value {
    before("Edit", file())
}

fn read() -> Value {
    before("Read", file())
}

/// The end of a turn.
fn ends(scene: &mut Scene, name: &str) {
    scene.happens(&mate(name), &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&mate(name), &idle(name));
}

fn failed(mut call: Value) -> Value {
    call["hook_event_name"] = json!("PostToolUseFailure");
    call
}

#[test]
fn a_file_that_another_agent_changed_must_be_read_again() {
    let mut scene = scene();
    scene.happens(&mate("bob"), &read());
    assert!(scene.codes(&mate("bob"), &edit()).is_empty());
    scene.happens(&mate("alice"), &read());
    scene.happens(&mate("alice"), &edit());
    assert!(scene.codes(&mate("alice"), &edit()).is_empty(), "one's own change is known");
    let found = scene.judge(&mate("bob"), &before("Write", file()));
    insta::assert_snapshot!(found[0].reason, @r#"Blocked: editing "src/parser.rs", which alice changed at 1970-01-01 00:00:04 UTC, after you last read it. alice is working on task 1 "Task 1" (in_progress, owner alice). Read the file again before you edit it, and keep the other agent's changes."#);
    assert_eq!((found[0].code, found[0].decision), ("edit-of-changed-file", Decision::Block));
    assert_eq!(found[0].about, "bob");
    scene.happens(&mate("bob"), &read());
    assert!(scene.codes(&mate("bob"), &edit()).is_empty(), "an agent that read it again may go on");
    scene.happens(&mate("bob"), &edit());
    assert_eq!(scene.codes(&mate("alice"), &edit()).len(), 1, "now alice has not seen bob's change");
    assert_eq!(scene.codes(&lead(), &edit()), [("edit-of-file-in-use", Decision::Block)]);
}

#[test]
fn a_file_that_an_agent_never_read_collides_only_while_the_other_works() {
    let mut scene = Scene::with(&[]);
    scene.policy.edit_collision.mode = Mode::Warn;
    scene.happens(&mate("alice"), &edit());
    let found = scene.judge(&mate("bob"), &edit());
    insta::assert_snapshot!(found[0].reason, @r#"Warning: editing "src/parser.rs", which alice changed at 1970-01-01 00:00:01 UTC. alice is still working. Read the file before you edit it, and keep the other agent's changes."#);
    ends(&mut scene, "alice");
    assert!(scene.codes(&mate("bob"), &edit()).is_empty(), "alice is idle");
    scene.task(json!({"id": "7", "status": "in_progress", "owner": "@Alice", "subject": "x"}));
    let found = scene.judge(&mate("bob"), &edit());
    assert!(found[0].reason.contains("alice is working on task 7"), "{}", found[0].reason);
}

#[test]
fn only_the_same_file_of_another_known_agent_collides() {
    let mut scene = scene();
    scene.happens(&mate("alice"), &edit());
    let other = |path: &str| before("Edit", json!({"file_path": path}));
    for path in ["/repo-2/src/parser.rs", "/repo/src/parser.rs.orig", "/repo/src"] {
        assert!(scene.codes(&mate("bob"), &other(path)).is_empty(), "{path}");
    }
    assert!(scene.codes(&Actor::unknown(), &edit()).is_empty());
    assert!(
        scene.codes(&mate("bob"), &read()).is_empty()
            && scene.codes(&mate("bob"), &after("Edit", file())).is_empty()
    );
    let role = |id: &str| Actor {
        name: Some("Explore".to_owned()),
        id: Some(id.to_owned()),
        kind: ActorKind::Subagent,
    };
    scene.happens(&role("a1"), &read());
    scene.happens(&role("a2"), &read());
    scene.happens(&role("a1"), &edit());
    assert_eq!(scene.codes(&role("a2"), &edit()).len(), 1, "subagents of one role are two agents");
}

#[test]
fn a_failed_or_denied_edit_is_no_change() {
    let mut scene = scene();
    scene.happens(&mate("bob"), &read());
    scene.happens(&mate("alice"), &edit());
    scene.happens(&mate("alice"), &failed(edit()));
    assert!(scene.codes(&mate("bob"), &edit()).is_empty());
    let mut first = edit();
    first["tool_use_id"] = json!("first");
    scene.happens(&mate("alice"), &first);
    scene.happens(&mate("bob"), &read());
    scene.happens(&mate("alice"), &edit());
    scene.happens(&mate("alice"), &failed(edit()));
    assert!(scene.codes(&mate("bob"), &edit()).is_empty(), "bob has seen the change before it");
    scene.happens(&mate("alice"), &failed(first));
    assert_eq!(
        scene.team.ledger.files.unseen_changes(FILE, "carol").len(),
        1,
        "only the last call is taken back"
    );
}

#[test]
fn of_two_agents_that_start_at_the_same_time_one_is_blocked() {
    let mut scene = scene();
    scene.happens(&mate("alice"), &read());
    scene.happens(&mate("bob"), &read());
    assert!(scene.codes(&mate("alice"), &edit()).is_empty());
    scene.happens(&mate("alice"), &edit());
    assert_eq!(scene.codes(&mate("bob"), &edit()).len(), 1, "before the first edit has returned");
    assert!(scene.codes(&mate("alice"), &edit()).is_empty(), "a blocked call changes nothing");
}

#[test]
fn the_history_is_bounded_and_keeps_changes_longest() {
    let mut scene = scene();
    scene.happens(&mate("alice"), &edit());
    for number in 0..600 {
        let path = format!("/repo/{number}/{}", "x".repeat(200));
        scene.happens(&mate("bob"), &before("Read", json!({"file_path": path})));
    }
    for number in 0..100 {
        scene.happens(&mate(&format!("agent-{number}")), &read());
    }
    let files = &scene.team.ledger.files;
    assert_eq!(files.unseen_changes(FILE, "bob").len(), 1);
    assert_eq!((files.count(), files.records().len()), (256, 256 + 16));
    let mut stored = FileHistory::default();
    for record in files.records() {
        let line = serde_json::to_string(&record).unwrap();
        stored.insert(serde_json::from_str(&line).unwrap());
    }
    assert_eq!(&stored, files);
}

#[test]
fn the_records_of_a_step_repeat_it() {
    let mut scene = scene();
    let mut stored = FileHistory::default();
    let git = |line: &str| after("Bash", json!({"command": line}));
    let steps = [
        (mate("alice"), read()),
        (mate("alice"), edit()),
        (mate("bob"), before("Write", json!({"file_path": "/repo/new.rs"}))),
        (mate("alice"), failed(edit())),
        (mate("bob"), git("git add -A")),
        (lead(), git("git commit -m x")),
        (lead(), git("git reset --hard")),
        (mate("bob"), git("git status")),
    ];
    for (actor, event) in steps {
        let known = scene.team.ledger.files.clone();
        scene.happens(&actor, &event);
        let records = scene.team.ledger.files.records_since(&known);
        assert!(records.len() <= 3, "{records:?}");
        records.into_iter().for_each(|record| stored.insert(record));
        stored.order = scene.team.ledger.files.order;
        assert_eq!(stored, scene.team.ledger.files, "{event}");
    }
}
