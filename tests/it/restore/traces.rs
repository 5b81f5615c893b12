//! `teamkeep restore --tasks` on recorded runs of each generation of the client.

use serde_json::Value;

use super::tasks::{names, read};
use crate::support::reenact::Trace;
use crate::support::sandbox::Sandbox;

/// Plays a recorded run and restores its tasks: number, status, subject, whom it waits for.
fn restored(name: &str, more: &[&str]) -> String {
    let sandbox = Sandbox::new();
    Trace::read(name, "2026-02-03T04:05:06.000Z").play(&sandbox, 1);
    sandbox.finish();
    let args = [&["restore", "latest", "--tasks", "again", "--yes"], more].concat();
    let result = sandbox.run(&args);
    assert_eq!(result.code, Some(0), "{result:?}");
    let files = names(&sandbox, "tasks/again").into_iter().filter(|name| !name.starts_with('.'));
    let told = files.map(|name| {
        let task: Value = serde_json::from_str(&read(&sandbox, &format!("tasks/again/{name}"))).unwrap();
        is_known_to_the_client(&task);
        let text = |key: &str| task[key].as_str().unwrap_or("-").to_owned();
        format!("{name} {} {} {} {}\n", text("status"), text("owner"), text("subject"), task["blockedBy"])
    });
    told.collect()
}

/// What the client's own reader asks of a task.
fn is_known_to_the_client(task: &Value) {
    for key in ["id", "subject", "description"] {
        assert!(task[key].is_string(), "{task}");
    }
    assert!(matches!(task["status"].as_str(), Some("pending" | "in_progress" | "completed")), "{task}");
    for key in ["blocks", "blockedBy"] {
        assert!(task[key].as_array().unwrap().iter().all(Value::is_string), "{task}");
    }
    for (key, value) in task.as_object().unwrap() {
        assert!(key != "activeForm" && key != "owner" || value.is_string(), "{task}");
        assert!(key != "metadata" || value.is_object(), "{task}");
    }
}

#[test]
fn unfinished_task_is_restored_from_traces_of_each_client_generation() {
    insta::assert_snapshot!(restored("v47-inprocess", &[]), @"2.json pending - Draft the parser []");
    insta::assert_snapshot!(restored("v177-inprocess", &[]), @"2.json pending - Review the parser []");
    insta::assert_snapshot!(restored("v328-inprocess", &[]), @"2.json pending - Review the parser []");
    insta::assert_snapshot!(restored("v328-panes", &[]), @"2.json pending - Review the parser []");
}

#[test]
fn owner_that_was_shut_down_is_kept_with_keep_owners() {
    let keep = &["--keep-owners"];
    insta::assert_snapshot!(restored("v328-inprocess", keep), @"2.json in_progress bob Review the parser []");
    insta::assert_snapshot!(restored("v328-panes", keep), @"2.json in_progress bob Review the parser []");
}

#[test]
fn trackers_are_not_restored_and_a_team_without_tasks_has_none() {
    insta::assert_snapshot!(restored("v47-inprocess", &["--all"]), @r#"
    1.json completed alice Review the parser []
    2.json pending - Draft the parser ["1"]
    3.json completed carol Fuzz the parser []
    "#);
    insta::assert_snapshot!(restored("v328-notasks", &["--all"]), @"");
    insta::assert_snapshot!(restored("v328-gc", &["--all", "--keep-owners"]), @r#"
    1.json completed alice Draft the parser []
    2.json completed bob Review the parser ["1"]
    3.json completed carol Fuzz the parser []
    "#);
}
