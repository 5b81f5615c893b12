//! Tasks that depend on others.

use serde_json::{Value, json};

use super::scene::{Scene, before, mate};
use crate::Decision;
use teamkeep_config::Mode;

fn update(id: &str, status: &str) -> Value {
    before("TaskUpdate", json!({"taskId": id, "status": status}))
}

#[test]
fn a_task_is_not_started_or_completed_before_its_dependencies() {
    let mut scene = Scene::with(&[
        ("1", "in_progress", "alice", &[]),
        ("2", "pending", "bob", &["1", "9"]),
        ("3", "completed", "carol", &[]),
        ("4", "pending", "carol", &["3"]),
    ]);
    let bob = mate("bob");
    let found = scene.judge(&bob, &update("2", "in_progress"));
    assert_eq!((found[0].code, found[0].decision), ("start-before-dependencies", Decision::Warn));
    assert!(found[0].text().contains("task 1 "));
    assert_eq!(
        scene.codes(&bob, &update("2", "completed")),
        [("completion-before-dependencies", Decision::Warn)]
    );
    for fine in [
        update("4", "in_progress"),
        update("2", "pending"),
        update("7", "completed"),
        update("1", "completed"),
    ] {
        assert!(scene.codes(&bob, &fine).is_empty(), "{fine}");
    }
    // The same call can add a dependency.
    let added = before(
        "TaskUpdate",
        json!({"taskId": "4", "status": "in_progress", "addBlockedBy": ["1", "4", "3"]}),
    );
    let found = scene.judge(&bob, &added);
    assert_eq!(found.len(), 1);
    assert!(found[0].text().contains("depends on: task 1 ") && !found[0].text().contains("task 3"));
    scene.policy.unfinished_dependencies.mode = Mode::Off;
    assert!(scene.codes(&bob, &update("2", "completed")).is_empty());
}
