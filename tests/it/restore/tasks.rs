//! `teamkeep restore RUN --tasks`: unfinished tasks go back into a list of the client.

use std::collections::BTreeMap;

use anstream::adapter::strip_str;
use serde_json::{Value, json};
use teamkeep::restore::{List, Options, RestoreSource, TaskList};
use teamkeep::view;
use unicode_width::UnicodeWidthStr;

use crate::support::access::assert_mode;
use crate::support::client_files::Lead;
use crate::support::programs::without_program_path;
use crate::support::sandbox::{CommandResult, Sandbox, unix_paths};

pub const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// A task as the client writes it.
pub fn write_task(sandbox: &Sandbox, list: &str, id: &str, more: Value) {
    let mut task = json!({"id": id, "subject": format!("Task {id}"), "description": "to be done",
        "status": "pending", "blocks": [], "blockedBy": []});
    for (key, value) in more.as_object().unwrap() {
        task[key] = value.clone();
    }
    sandbox.write(&format!("tasks/{list}/{id}.json"), serde_json::to_string_pretty(&task).unwrap());
}

/// A team whose client has erased everything: 1 was done, 2 in progress, 3 waited for both, 4 had been deleted.
pub fn erased(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, ONE);
    lead.roster(1_000, &["bob"]);
    lead.start("startup");
    let put = |id, more| write_task(sandbox, &lead.team, id, more);
    put("1", json!({"status": "completed", "owner": "alice", "blocks": ["2", "3"]}));
    put(
        "2",
        json!({"status": "in_progress", "owner": "bob", "blocks": ["3"], "blockedBy": ["1"], "activeForm": "Doing"}),
    );
    put("3", json!({"blockedBy": ["1", "2", "9"], "metadata": {"size": 3}}));
    put("4", json!({}));
    lead.hook("Stop", json!({}));
    std::fs::remove_file(sandbox.client(&format!("tasks/{}/4.json", lead.team))).unwrap();
    lead.tool("t4", "TaskUpdate", &json!({"taskId": "4", "status": "deleted"}), json!({"success": true}));
    lead.erase();
    sandbox.remove_dir(&format!("tasks/{}", lead.team));
    lead.end("prompt_input_exit");
    sandbox.finish();
    lead
}

pub fn restore(sandbox: &Sandbox, more: &[&str]) -> CommandResult {
    sandbox.run(&[&["restore", "session-aaaaaaaa", "--tasks"], more].concat())
}

/// What is done must be done.
pub fn restored(sandbox: &Sandbox, more: &[&str]) -> Value {
    let result = restore(sandbox, &[more, &["--yes", "--json"]].concat());
    assert_eq!(result.code, Some(0), "{result:?}");
    serde_json::from_str(&result.out).unwrap()
}

pub fn read(sandbox: &Sandbox, path: &str) -> String {
    std::fs::read_to_string(sandbox.client(path)).unwrap()
}

pub fn names(sandbox: &Sandbox, path: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(sandbox.client(path))
        .map(|listing| listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    names.sort();
    names
}

/// What is said, without the path of the stage.
fn told(sandbox: &Sandbox, text: &str) -> String {
    unix_paths(text, &sandbox.home(), "~")
}

#[test]
fn a_preview_writes_nothing_and_ends_with_the_command_that_does_it() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let result = restore(&sandbox, &[TWO]);
    assert_eq!(result.code, Some(0));
    insta::assert_snapshot!(told(&sandbox, &result.out), @r#"
    session-aaaaaaaa 78850aef5bad4835
    last recorded state
    would restore 2 tasks into task list session-bbbbbbbb ~/.claude/tasks/session-bbbbbbbb

    + 2 pending Task 2 (was in_progress, owner bob)
        dependency on 1 dropped (already completed)
    + 3 pending Task 3
        depends on 2
        dependency on 1 dropped (already completed)
        dependency on 9 dropped (not recorded)
    skip 1 Task 1 (completed; --all restores it)
    skip 4 Task 4 (deleted; --all restores it)
    "#);
    insta::assert_snapshot!(without_program_path(&result.err), @"
    to do it: teamkeep restore 78850aef5bad4835 --tasks=bbbbbbbb-0000-4000-8000-000000000002 --yes
    ");
    assert!(!sandbox.client("tasks/session-bbbbbbbb").exists() && !sandbox.keep("restores").exists());
    let result = restore(&sandbox, &[TWO, "--dry-run", "--yes"]);
    assert!(result.code == Some(0) && result.err.starts_with("to do it: "), "{result:?}");
    assert!(!sandbox.client("tasks/session-bbbbbbbb").exists());
}

#[test]
fn without_a_list_the_tasks_go_to_a_new_session_and_once() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let run = sandbox.library().runs[0].run.clone();
    let list = List::of_new_session(&run);
    let (session, list) = (list.session.unwrap(), list.name);
    let preview = sandbox.run(&["restore", "--dry-run"]);
    assert_eq!(preview.code, Some(0), "{preview:?}");
    assert!(preview.out.contains(&format!("would restore 2 tasks into task list {list}")), "{}", preview.out);
    assert!(
        without_program_path(&preview.err).ends_with(&format!("teamkeep restore {run} --yes\n")),
        "{}",
        preview.err
    );
    assert!(!sandbox.client(&format!("tasks/{list}")).exists());
    let result = sandbox.run(&["restore", &run, "--yes"]);
    assert!(result.out.contains(&format!("restored 2 tasks into task list {list}")), "{}", result.out);
    let start = format!(
        "to start a session with them: claude --session-id {session}\nwith the facts about the team: "
    );
    assert!(
        result.err.contains(&start) && result.err.ends_with(&format!(" {run} --prompt)\"\n")),
        "{}",
        result.err
    );
    assert!(sandbox.client(&format!("tasks/{list}/2.json")).exists());
    let again = sandbox.run(&["restore", &run, "--yes"]);
    assert!(
        again.out.contains("no tasks to restore into") && again.out.contains("already restored as 2"),
        "{again:?}"
    );
    assert_eq!(again.err, result.err);
    let undone = sandbox.run(&["restore", "--undo"]);
    assert!(undone.code == Some(0) && undone.err.contains(&format!("of run {run}")), "{undone:?}");
    assert!(!sandbox.client(&format!("tasks/{list}")).exists(), "the last restore is undone");
    assert!(sandbox.run(&["restore", "--undo"]).err.contains("error: nothing to undo: "));
}

#[test]
fn unfinished_tasks_are_restored_into_the_list_of_a_future_session() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let result = restore(&sandbox, &[TWO, "--yes"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let undo = result.err.split("--undo ").nth(1).unwrap().lines().next().unwrap();
    insta::assert_snapshot!(without_program_path(&result.err.replace(undo, "ID")), @r#"
    to undo: teamkeep restore --undo ID
    to start a session with them: claude --session-id bbbbbbbb-0000-4000-8000-000000000002
    with the facts about the team: claude --session-id bbbbbbbb-0000-4000-8000-000000000002 "$(teamkeep brief 78850aef5bad4835 --prompt)"
    "#);
    insta::assert_snapshot!(read(&sandbox, "tasks/session-bbbbbbbb/2.json"), @r#"
    {
      "id": "2",
      "subject": "Task 2",
      "description": "to be done",
      "activeForm": "Doing",
      "status": "pending",
      "blocks": [
        "3"
      ],
      "blockedBy": []
    }
    "#);
    insta::assert_snapshot!(read(&sandbox, "tasks/session-bbbbbbbb/3.json"), @r#"
    {
      "id": "3",
      "subject": "Task 3",
      "description": "to be done",
      "metadata": {
        "size": 3
      },
      "status": "pending",
      "blocks": [],
      "blockedBy": [
        "2"
      ]
    }
    "#);
    assert_eq!(read(&sandbox, "tasks/session-bbbbbbbb/.highwatermark"), "3");
    assert_eq!(names(&sandbox, "tasks/session-bbbbbbbb"), [".highwatermark", ".lock", "2.json", "3.json"]);
    for (path, mode) in [("tasks/session-bbbbbbbb", 0o700), ("tasks/session-bbbbbbbb/2.json", 0o600)] {
        assert_mode(sandbox.client(path), mode);
    }
}

#[test]
fn task_with_a_used_number_gets_a_new_one_and_references_follow() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    write_task(&sandbox, "named", "2", json!({"subject": "Another's"}));
    sandbox.write("tasks/named/.highwatermark", 7);
    let before = read(&sandbox, "tasks/named/2.json");
    let plan = restored(&sandbox, &["named"]);
    assert_eq!(plan["tasks"][0]["id"], "8");
    assert_eq!((&plan["tasks"][1]["id"], &plan["tasks"][1]["blocked_by"]), (&json!("9"), &json!(["8"])));
    assert_eq!((&plan["highwatermark_before"], &plan["highwatermark_after"]), (&json!(7), &json!(9)));
    let third: Value = serde_json::from_str(&read(&sandbox, "tasks/named/9.json")).unwrap();
    assert_eq!((&third["subject"], &third["blockedBy"]), (&json!("Task 3"), &json!(["8"])));
    assert_eq!(
        (read(&sandbox, "tasks/named/2.json"), read(&sandbox, "tasks/named/.highwatermark")),
        (before, "9".into())
    );
}

#[test]
fn all_restores_completed_and_deleted_tasks_and_keep_owners_preserves_owners() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let plan = restored(&sandbox, &["named", "--all", "--keep-owners"]);
    let tasks: Vec<_> = plan["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (task["id"].as_str().unwrap(), task["status"].as_str().unwrap(), task["owner"].as_str()))
        .collect();
    assert_eq!(
        tasks,
        [
            ("1", "completed", Some("alice")),
            ("2", "in_progress", Some("bob")),
            ("3", "pending", None),
            ("4", "pending", None)
        ]
    );
    assert_eq!(plan["tasks"][2]["blocked_by"], json!(["1", "2"]));
    assert_eq!(
        plan["tasks"][2]["dropped"],
        json!([{"field": "blockedBy", "task": "9", "why": "not recorded"}])
    );
}

#[test]
fn tasks_are_restored_as_they_were_at_a_moment() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let result = restore(&sandbox, &["named", "--at", "+1s", "--json", "--dry-run"]);
    let plan: Value = serde_json::from_str(&result.out).unwrap();
    let ids: Vec<_> =
        plan["tasks"].as_array().unwrap().iter().map(|task| task["was"].as_str().unwrap()).collect();
    assert_eq!(ids, ["2", "3", "4"], "4 was not deleted yet");
    let result = restore(&sandbox, &["named", "--at", "+1h", "--dry-run"]);
    assert_eq!(result.code, Some(0));
    assert!(
        result.err.starts_with("the run had ended at ") && result.out.contains("no tasks to restore"),
        "{}",
        result.err
    );
    assert_eq!(restore(&sandbox, &["named", "--at", "soon"]).code, Some(64));
}

#[test]
fn restored_task_is_not_restored_again_and_existing_tasks_are_unchanged() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    restored(&sandbox, &["named"]);
    let again = restored(&sandbox, &["named"]);
    assert_eq!((&again["tasks"], &again["done"]), (&json!([]), &json!(false)));
    assert!(again["left_out"].to_string().contains("already restored as 2"), "{again}");
    // Its team has finished it, and Claude Code deletes a list of completed tasks.
    std::fs::remove_file(sandbox.client("tasks/named/2.json")).unwrap();
    let finished = restored(&sandbox, &["named"]);
    assert_eq!(finished["tasks"], json!([]), "{finished}");
    assert!(
        finished["left_out"].to_string().contains("already restored as 2, and gone since; --all restores it")
    );
    // In the run's own list a task that is still there is the same task.
    write_task(&sandbox, "session-aaaaaaaa", "2", json!({"status": "completed"}));
    let own = restored(&sandbox, &[ONE]);
    assert_eq!((own["tasks"].as_array().unwrap().len(), &own["tasks"][0]["id"]), (1, &json!("3")));
    assert_eq!(own["tasks"][0]["blocked_by"], json!(["2"]));
    let all = restored(&sandbox, &["named", "--all"]);
    let was: Vec<_> =
        all["tasks"].as_array().unwrap().iter().map(|task| task["was"].as_str().unwrap()).collect();
    assert_eq!(was, ["1", "2", "4"], "3 is still there");
}

#[test]
fn half_written_task_file_is_reported() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["bob"]);
    sandbox.write("tasks/session-aaaaaaaa/1.json", "{\"id\":\"1\",\"sub");
    write_task(&sandbox, "session-aaaaaaaa", "2", json!({"id": 2, "description": null, "status": "doing"}));
    lead.start("startup");
    // A state that was whole stands when a later one is torn.
    sandbox.write("tasks/session-aaaaaaaa/2.json", "{\"id\":\"2\",\"sub");
    lead.hook("Stop", json!({}));
    let plan = restored(&sandbox, &["named"]);
    assert_eq!(
        plan["left_out"],
        json!([{"task": "tasks/session-aaaaaaaa/1.json", "subject": null,
        "why": "no complete state was recorded"}])
    );
    let task: Value = serde_json::from_str(&read(&sandbox, "tasks/named/2.json")).unwrap();
    assert_eq!(
        (&task["id"], &task["description"], &task["status"]),
        (&json!("2"), &json!(""), &json!("pending"))
    );
}

#[test]
fn task_without_a_snapshot_is_restored_from_its_tool_calls() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["bob"]);
    lead.start("startup");
    let input = json!({"subject": "Fuzz it", "description": "with tests", "activeForm": "Fuzzing"});
    lead.tool("t1", "TaskCreate", &input, json!({"task": {"id": "5", "subject": "Fuzz it"}}));
    let plan = restored(&sandbox, &["named"]);
    assert_eq!(plan["tasks"][0]["told_only"], true);
    let task: Value = serde_json::from_str(&read(&sandbox, "tasks/named/5.json")).unwrap();
    assert_eq!((&task["description"], &task["activeForm"]), (&json!("with tests"), &json!("Fuzzing")));
}

#[test]
fn narrow_terminal_shows_whole_lines_without_control_characters() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["bob"]);
    let subject = "\u{1b}[31mred\u{202e} שלום 💥 and so on, longer than any line\nsecond";
    write_task(
        &sandbox,
        &lead.team,
        "1",
        json!({"subject": subject, "owner": "b\u{7}ob", "blockedBy": ["\u{1b}[2J"]}),
    );
    lead.start("startup");
    let library = sandbox.library();
    let opened = library.open_runs(&[library.find("latest").unwrap()]).unwrap();
    let source = RestoreSource::of(&library.archive, &opened.runs[0], None);
    let plan =
        teamkeep::restore::plan(&source, &TaskList::default(), &BTreeMap::new(), Options::default()).unwrap();
    let shown = strip_str(&view::restored_tasks(&plan).to_terminal(Some(40))).to_string();
    insta::assert_snapshot!(shown, @r#"
    (no team)
    last recorded state
    would restore 1 task into task list

    + 1 pending \u{1b}[31mred\u{202e} שלום
      💥 and so on, longer than any line
      (was owner b\u{7}ob)
        dependency on \u{1b}[2J dropped (not
        recorded)
    "#);
    assert!(shown.lines().all(|line| line.width() <= 40 && !line.contains(['\u{1b}', '\u{7}', '\u{202e}'])));
    restored(&sandbox, &["named"]);
    let task: Value = serde_json::from_str(&read(&sandbox, "tasks/named/1.json")).unwrap();
    assert_eq!(task["subject"], subject, "the text itself is given back as it was");
}
