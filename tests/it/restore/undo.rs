//! `teamkeep restore --undo`: what is still as it was written goes.

use serde_json::{Value, json};

use super::tasks::{erased, names, read, restored, write_task};
#[cfg(unix)]
use crate::docs::completion::offered;
use crate::support::sandbox::Sandbox;

fn undo(sandbox: &Sandbox, id: &str) -> Value {
    serde_json::from_str(&sandbox.printed(&["restore", "--undo", id, "--json"])).unwrap()
}

fn id(plan: &Value) -> &str {
    plan["undo"].as_str().unwrap()
}

#[test]
#[cfg(unix)]
fn undo_removes_a_list_that_the_restore_created() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let plan = restored(&sandbox, &["named"]);
    assert_eq!(offered(&sandbox, &["restore", "--undo", &id(&plan)[..4]]), [id(&plan)]);
    let result = sandbox.run(&["restore", "--undo", id(&plan), "--dry-run"]);
    let command = format!("to do it: {} restore --undo {}\n", env!("CARGO_BIN_EXE_teamkeep"), id(&plan));
    assert_eq!((result.code, result.err), (Some(0), command));
    insta::assert_snapshot!(result.out, @"
    task list named
    would remove 2 tasks: 2, 3
    ");
    assert_eq!(names(&sandbox, "tasks/named"), [".highwatermark", ".lock", "2.json", "3.json"]);
    let undone = undo(&sandbox, id(&plan));
    assert_eq!(undone["removed"], json!(["2", "3"]));
    assert!(!sandbox.client("tasks/named").exists());
    let result = sandbox.run(&["restore", "--undo", id(&plan)]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("no restore has the ID"), "{}", result.err);
    assert_eq!(restored(&sandbox, &["named"])["done"], true, "what was undone can be restored again");
}

#[test]
fn undo_leaves_the_other_tasks_and_the_highest_number() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    write_task(&sandbox, "named", "2", json!({"subject": "Another's"}));
    sandbox.write("tasks/named/.highwatermark", "5\n");
    let before = read(&sandbox, "tasks/named/2.json");
    let plan = restored(&sandbox, &["named"]);
    assert_eq!(names(&sandbox, "tasks/named"), [".highwatermark", ".lock", "2.json", "6.json", "7.json"]);
    undo(&sandbox, id(&plan));
    assert_eq!(names(&sandbox, "tasks/named"), [".highwatermark", ".lock", "2.json"]);
    assert_eq!(
        (read(&sandbox, "tasks/named/.highwatermark"), read(&sandbox, "tasks/named/2.json")),
        ("7".into(), before)
    );
}

#[test]
fn undo_preserves_tasks_that_the_client_changed() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let plan = restored(&sandbox, &["named"]);
    write_task(&sandbox, "named", "2", json!({"status": "in_progress", "owner": "carol"}));
    write_task(&sandbox, "named", "9", json!({"blockedBy": ["3"]}));
    sandbox.write("tasks/named/.highwatermark", 12);
    let undone = undo(&sandbox, id(&plan));
    assert_eq!((&undone["removed"], &undone["kept"]), (&json!(["3"]), &json!(["2"])));
    assert_eq!(names(&sandbox, "tasks/named"), [".highwatermark", ".lock", "2.json", "9.json"]);
    assert_eq!(read(&sandbox, "tasks/named/.highwatermark"), "12");
    // It stays restored, and an undo without an ID does not come back to it.
    let again = restored(&sandbox, &["named"]);
    let ids: Vec<_> = again["tasks"].as_array().unwrap().iter().map(|task| task["was"].clone()).collect();
    assert_eq!(ids, ["3"], "{again}");
    undo(&sandbox, id(&again));
    assert!(sandbox.run(&["restore", "--undo"]).err.contains("error: nothing to undo: "));
}

#[test]
fn undo_of_a_deleted_list_or_of_a_malicious_record_changes_nothing() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let plan = restored(&sandbox, &["named"]);
    sandbox.remove_dir("tasks/named");
    assert_eq!(undo(&sandbox, id(&plan))["gone"], json!(["2", "3"]));
    for bad in ["../../x", "..", "", "nothing"] {
        assert_eq!(sandbox.run(&["restore", "--undo", bad]).code, Some(1), "{bad:?}");
    }
    let plan = restored(&sandbox, &["named"]);
    let path = sandbox.keep(&format!("restores/{}.json", id(&plan)));
    let record = std::fs::read_to_string(&path).unwrap();
    let precious = sandbox.home().join("precious.json");
    std::fs::write(&precious, read(&sandbox, "tasks/named/2.json")).unwrap();
    for (from, to) in
        [("\"list\":\"named\"", "\"list\":\"../..\""), ("\"id\":\"2\"", "\"id\":\"../../../precious\"")]
    {
        assert!(record.contains(from));
        std::fs::write(&path, record.replace(from, to)).unwrap();
        assert_eq!(sandbox.run(&["restore", "--undo", id(&plan)]).code, Some(1), "{to}");
        assert!(precious.exists());
    }
    std::fs::write(&path, "torn {").unwrap();
    assert_eq!(sandbox.run(&["restore", "--undo", id(&plan)]).code, Some(1));
}

#[test]
fn killed_restore_can_be_continued_and_undone() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let plan = restored(&sandbox, &["named"]);
    // As if it had been killed after its first file: the second number is another task's now.
    let record = sandbox.keep(&format!("restores/{}.json", id(&plan)));
    let text = std::fs::read_to_string(&record).unwrap();
    assert!(text.contains("\"done\":true"), "{text}");
    std::fs::write(&record, text.replace("\"done\":true", "\"done\":false")).unwrap();
    std::fs::remove_file(sandbox.client("tasks/named/.highwatermark")).unwrap();
    write_task(&sandbox, "named", "3", json!({"subject": "The client's"}));
    let again = restored(&sandbox, &["named"]);
    let put = |field: &str| again["tasks"][0][field].clone();
    assert_eq!(
        (again["tasks"].as_array().unwrap().len(), put("was"), put("id")),
        (1, json!("3"), json!("4"))
    );
    assert_eq!(put("blocked_by"), json!(["2"]), "the first is there");
    let undone = undo(&sandbox, id(&plan));
    assert_eq!((&undone["removed"], &undone["kept"]), (&json!(["2"]), &json!(["3"])));
}
