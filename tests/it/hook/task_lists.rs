//! Sessions that name their task list (`CLAUDE_CODE_TASK_LIST_ID`): that list is the list of their team.

use serde_json::{Value, json};

use crate::policy::gate_sandbox::{SESSION, TEAM};
use crate::support::sandbox::{CommandResult, Sandbox};

/// What the variable holds, and the directory that the client makes of it.
const NAMED: &str = "shared list.v1";
const SPELLED: &str = "shared-list-v1";

/// A team with bob and carol, of this name and led by this session.
fn team(sandbox: &Sandbox, name: &str, session: &str) {
    let members = ["team-lead", "bob", "carol"].map(|name| json!({"name": name}));
    let config = json!({"name": name, "createdAt": 1, "leadSessionId": session, "members": members});
    sandbox.write(&format!("teams/{name}/config.json"), config);
}

fn task(sandbox: &Sandbox, list: &str, id: &str, status: &str, owner: Option<&str>) {
    let mut task =
        json!({"id": id, "subject": format!("Task {id}"), "status": status, "blocks": [], "blockedBy": []});
    if let Some(owner) = owner {
        task["owner"] = json!(owner);
    }
    sandbox.write(&format!("tasks/{list}/{id}.json"), task);
}

/// A hook call of a session whose client was started with this variable.
fn call(sandbox: &Sandbox, session: &str, list: Option<&str>, event: &str, more: Value) -> CommandResult {
    let mut payload = more;
    payload["session_id"] = json!(session);
    payload["hook_event_name"] = json!(event);
    payload["cwd"] = json!(sandbox.home().join("parser"));
    let env: Vec<(&str, &str)> = list.map(|list| ("CLAUDE_CODE_TASK_LIST_ID", list)).into_iter().collect();
    sandbox.feed("", payload.to_string().as_bytes(), &env)
}

fn shutdown(sandbox: &Sandbox, session: &str, list: Option<&str>) -> CommandResult {
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    call(sandbox, session, list, "PreToolUse", json!({"tool_name": "SendMessage", "tool_input": input}))
}

/// A stage with bob's team, and a task in the list that the session names.
fn busy(list: &str) -> Sandbox {
    let sandbox = Sandbox::judging();
    team(&sandbox, TEAM, SESSION);
    task(&sandbox, list, "2", "in_progress", Some("bob"));
    sandbox
}

fn tasks(entries: &[Value]) -> Vec<Value> {
    let tasks = entries.iter().filter(|entry| !entry["task"].is_null());
    tasks.map(|entry| json!([entry["task"], entry["actor"], entry["kind"], entry["to_status"]])).collect()
}

#[test]
fn a_gate_judges_by_the_list_that_the_session_names() {
    let sandbox = busy(SPELLED);
    let result = shutdown(&sandbox, SESSION, Some(NAMED));
    assert_eq!(result.code, Some(2), "{result:?}");
    assert!(result.err.contains("task 2") && !result.err.contains(SPELLED), "{}", result.err);
    let other = busy(SPELLED);
    task(&other, TEAM, "7", "in_progress", Some("carol"));
    assert_eq!(shutdown(&other, SESSION, None).code, Some(0), "nobody names it");
}

#[test]
fn a_list_that_a_team_has_left_is_not_judged_and_stays_in_the_run() {
    let sandbox = busy(SPELLED);
    assert_eq!(shutdown(&sandbox, SESSION, Some(NAMED)).code, Some(2));
    task(&sandbox, "other", "2", "completed", Some("bob"));
    assert_eq!(shutdown(&sandbox, SESSION, Some("other")).code, Some(0));
    let shown = sandbox.show(&["latest"]);
    assert_eq!(
        (&shown["tasks"]["2"]["status"], &shown["tasks"]["other/2"]["status"]),
        (&json!("in_progress"), &json!("completed"))
    );
    assert_eq!(shutdown(&sandbox, SESSION, Some(NAMED)).code, Some(2), "it came back");
    assert_eq!(shutdown(&sandbox, SESSION, None).code, Some(0), "the list of the team is empty");
}

#[test]
fn events_of_a_named_list_are_shown_like_those_of_the_teams_list() {
    let sandbox = busy(SPELLED);
    let lead = |event: &str, more: Value| call(&sandbox, SESSION, Some(NAMED), event, more);
    lead("SessionStart", json!({"source": "startup"}));
    task(&sandbox, SPELLED, "3", "pending", None);
    lead("TaskCreated", json!({"task_id": "3", "task_subject": "Task 3"}));
    task(&sandbox, SPELLED, "3", "completed", None);
    let update = json!({"taskId": "3", "status": "completed"});
    let done = json!({"success": true, "statusChange": {"from": "pending", "to": "completed"}});
    lead(
        "PostToolUse",
        json!({"tool_name": "TaskUpdate", "tool_use_id": "u1", "tool_input": update, "tool_response": done}),
    );
    let told = tasks(&sandbox.replay("latest"));
    assert_eq!(
        told[1..],
        [
            json!(["3", "team-lead", "task-created", "pending"]),
            json!(["3", "team-lead", "task-completed", "completed"])
        ]
    );
    let log = sandbox.log();
    assert!(log.iter().all(|event| event["task_list"] == SPELLED), "{log:?}");
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    let ids: Vec<&Value> =
        status["teams"][0]["tasks"].as_array().unwrap().iter().map(|task| &task["id"]).collect();
    assert_eq!(ids, ["2", "3"]);
    assert!(sandbox.printed(&["report", "--full"]).contains("Task 3"));
}

#[test]
fn two_teams_share_a_list_and_neither_ends_the_other_s_run() {
    const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000002";
    let sandbox = busy(SPELLED);
    team(&sandbox, "lexer-team", OTHER);
    for (session, list) in [(SESSION, NAMED), (OTHER, SPELLED)] {
        call(&sandbox, session, Some(list), "UserPromptSubmit", json!({"prompt": "go"}));
    }
    task(&sandbox, SPELLED, "2", "completed", Some("bob"));
    for session in [OTHER, SESSION] {
        call(&sandbox, session, Some(NAMED), "Stop", json!({}));
    }
    for team in [TEAM, "lexer-team"] {
        let told = tasks(&sandbox.replay(team));
        let states: Vec<&Value> = told.iter().map(|entry| &entry[3]).collect();
        assert_eq!(states, ["in_progress", "completed"], "{team}");
    }
    sandbox.remove_dir("teams/lexer-team");
    call(&sandbox, OTHER, Some(NAMED), "SessionEnd", json!({"reason": "prompt_input_exit"}));
    sandbox.finish();
    let mut ended: Vec<String> =
        sandbox.teams().iter().map(|run| format!("{} {}", run["team"], run["ended_by"])).collect();
    ended.sort();
    assert_eq!(ended, ["\"lexer-team\" \"session-end\"", "\"parser-team\" null"]);
}

#[test]
fn no_value_of_the_variable_reads_files_outside_of_the_lists() {
    let long = "x".repeat(300);
    let cases = [
        ("../x", Some("---x")),
        (".", Some("-")),
        ("a\u{1}\u{9b}\nb", Some("a---b")),
        ("", None),
        (&*long, None),
    ];
    for (named, spelled) in cases {
        let sandbox = busy(spelled.unwrap_or("elsewhere"));
        sandbox.write("x/2.json", json!({"id": "2", "status": "in_progress", "owner": "bob"}));
        let result = shutdown(&sandbox, SESSION, Some(named));
        assert_eq!(result.code, Some(if spelled.is_some() { 2 } else { 0 }), "{named:?}: {result:?}");
        assert_eq!(sandbox.log()[0].get("task_list").and_then(Value::as_str), spelled);
        assert_eq!(sandbox.run(&["verify"]).code, Some(0));
    }
}

#[test]
fn a_pane_that_names_another_list_is_judged_by_both() {
    let sandbox = busy(SPELLED);
    call(&sandbox, SESSION, Some(NAMED), "UserPromptSubmit", json!({"prompt": "go"}));
    task(&sandbox, TEAM, "2", "in_progress", Some("carol"));
    assert_eq!(
        call(&sandbox, "pane", None, "TeammateIdle", json!({"teammate_name": "carol", "team_name": TEAM}))
            .code,
        Some(0)
    );
    let input = json!({"to": "carol", "message": {"type": "shutdown_request", "reason": "done"}});
    let result = call(
        &sandbox,
        SESSION,
        Some(NAMED),
        "PreToolUse",
        json!({"tool_name": "SendMessage", "tool_input": input}),
    );
    assert!(result.code == Some(2) && result.err.contains(&format!("task \"{TEAM}/2\"")), "{result:?}");
    let shown = sandbox.show(&["latest"]);
    assert_eq!(
        (&shown["tasks"][format!("{TEAM}/2")]["owner"], &shown["tasks"]["2"]["owner"]),
        (&json!("carol"), &json!("bob"))
    );
}

#[test]
fn gates_status_and_doctor_report_a_task_that_is_in_no_known_list() {
    let sandbox = Sandbox::judging();
    team(&sandbox, TEAM, SESSION);
    let update = |id: &str, more: Value| {
        let response = json!({"success": true, "taskId": id});
        let mut input = json!({"taskId": id});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(
            &sandbox,
            SESSION,
            None,
            "PostToolUse",
            json!({"tool_name": "TaskUpdate", "tool_input": input, "tool_response": response}),
        )
    };
    let missing = || -> Value {
        let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
        status["teams"][0]["missing_tasks"].clone()
    };
    update("7", json!({"status": "deleted"}));
    assert_eq!(
        (missing(), shutdown(&sandbox, SESSION, None).out),
        (Value::Null, String::new()),
        "it is gone"
    );
    update("7", json!({"status": "in_progress"}));
    assert_eq!(missing(), json!(["7"]));
    let result = shutdown(&sandbox, SESSION, None);
    assert!(result.code == Some(0) && result.out.contains("task 7 is not in a task list"), "{result:?}");
    assert!(shutdown(&sandbox, SESSION, None).out.is_empty(), "once in a state of the work");
    assert!(sandbox.printed(&["status"]).contains("task list unknown: task 7"));
    assert!(sandbox.printed(&["status", "--line"]).contains("task list unknown"));
    let doctor = sandbox.run(&["doctor"]).out;
    assert!(doctor.contains("warning: task-lists: team parser-team: task 7"), "{doctor}");
    // A list that gave the number knows the task, also when its file is erased already.
    sandbox.write(&format!("tasks/{TEAM}/.highwatermark"), "7");
    update("7", json!({"owner": "bob"}));
    assert_eq!(missing(), Value::Null);
    update("8", json!({"owner": "bob"}));
    assert_eq!(missing(), json!(["8"]));
    task(&sandbox, TEAM, "8", "in_progress", Some("bob"));
    update("8", json!({"status": "in_progress"}));
    assert_eq!(missing(), Value::Null);
    assert_eq!(shutdown(&sandbox, SESSION, None).code, Some(2));
    assert!(sandbox.run(&["doctor", "-v"]).out.contains("ok      task-lists"));
}

#[test]
fn tasks_are_restored_into_the_list_that_the_team_uses() {
    let sandbox = busy(SPELLED);
    call(&sandbox, SESSION, Some(NAMED), "UserPromptSubmit", json!({"prompt": "go"}));
    std::fs::remove_file(sandbox.client(&format!("tasks/{SPELLED}/2.json"))).unwrap();
    let restore =
        |more: &[&str]| sandbox.run(&[&["restore", "latest", "--tasks", TEAM, "--yes"], more].concat());
    let held = restore(&[]);
    assert_eq!(held.code, Some(1));
    assert!(held.err.contains(&format!("session {SESSION} uses it")), "{}", held.err);
    sandbox.remove_dir(&format!("teams/{TEAM}"));
    call(&sandbox, SESSION, Some(NAMED), "SessionEnd", json!({"reason": "prompt_input_exit"}));
    sandbox.finish();
    let result = restore(&[]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let (name, start) = ("CLAUDE_CODE_TASK_LIST_ID", format!("claude --session-id {SESSION}"));
    let opens = match cfg!(windows) {
        true => format!("$env:{name} = '{SPELLED}'; {start}; Remove-Item Env:{name}"),
        false => format!("{name}={SPELLED} {start}"),
    };
    assert!(result.err.contains(&opens), "{}", result.err);
    assert!(sandbox.client(&format!("tasks/{SPELLED}/2.json")).exists(), "under its own number");
}

#[test]
fn a_named_list_is_captured_again_after_the_index_is_lost() {
    let sandbox = busy(SPELLED);
    call(&sandbox, SESSION, Some(NAMED), "UserPromptSubmit", json!({"prompt": "go"}));
    std::fs::remove_file(sandbox.keep(&format!("teams/open/team-{TEAM}.json"))).unwrap();
    assert_eq!(shutdown(&sandbox, SESSION, Some(NAMED)).code, Some(2));
    call(&sandbox, SESSION, Some(NAMED), "Stop", json!({}));
    let told = tasks(&sandbox.replay("latest"));
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn notices_in_a_directory_named_after_the_list_are_stored_unless_another_team_owns_it() {
    let sandbox = busy(SPELLED);
    let mail = json!([{"from": "team-lead", "text": "for bob", "timestamp": "2026-02-03T04:05:06.000Z", "read": false}]);
    sandbox.write(&format!("teams/{SPELLED}/inboxes/bob.json"), &mail);
    call(&sandbox, SESSION, Some(NAMED), "UserPromptSubmit", json!({"prompt": "go"}));
    assert_eq!(sandbox.show(&[TEAM])["inboxes"]["bob"], mail);
    team(&sandbox, "lexer-team", "cccccccc-0000-4000-8000-000000000003");
    sandbox.write("teams/lexer-team/inboxes/bob.json", &mail);
    call(&sandbox, SESSION, Some("lexer-team"), "UserPromptSubmit", json!({"prompt": "go"}));
    let kept = sandbox.archive().journal(&sandbox.library().find(TEAM).unwrap().run).last();
    assert!(!kept.keys().any(|path| path.starts_with("teams/lexer-team")), "{kept:?}");
}
