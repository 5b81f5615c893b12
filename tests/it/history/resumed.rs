//! Sessions that go on: resumed after their client was killed, and with what was there before.

use serde_json::{Value, json};

use crate::store::run_sandbox::{Client, ONE, TWO, ended_process, led, rows};
use crate::support::client_files::{Lead, count, only};
use crate::support::sandbox::Sandbox;

/// A team with two tasks whose client is killed; another one resumes its session, and speaks before it has made the team
/// anew.
fn resumed(sandbox: &Sandbox) -> Client {
    let gone = ended_process();
    let mut lead = Lead { pid: Some(gone), ..Lead::of(sandbox, ONE) };
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": gone}}));
    lead.start("startup");
    lead.task("1", "pending", None);
    lead.task("2", "completed", Some("alice"));
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    lead.hook("Stop", json!({}));
    sandbox.set_clock(60_000);
    let client = Client::start();
    lead.pid = Some(client.0.id());
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": client.0.id()}}));
    lead.start("resume");
    lead.config(2_000, &[], json!({"leadProcess": {"pid": client.0.id()}}));
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    client
}

#[test]
fn session_resumed_after_a_killed_client_leaves_a_crashed_run() {
    let sandbox = Sandbox::new();
    let _client = resumed(&sandbox);
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("crashed"), &Value::Null]);
    assert_eq!(teams[0]["ended_at"], "2026-02-03T04:05:08.000Z", "when it was last heard of");
    assert_eq!(sandbox.library().runs[1].continues.as_deref(), teams[0]["run"].as_str());
    let tell = |place: usize| sandbox.replay(teams[place]["run"].as_str().unwrap());
    let (before, after) = (tell(0), tell(1));
    assert_eq!(only(&before, "session-started")["summary"], "startup");
    assert_eq!(only(&before, "session-ended")["summary"], "crashed");
    assert_eq!(only(&after, "session-started")["summary"], "resume");
}

#[test]
fn report_lists_client_versions_of_the_run_also_after_its_session_was_resumed() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    let speaks = |version: &str| {
        let message = json!({"content": "<teammate-message teammate_id=\"alice\">\nhi\n</teammate-message>"});
        let record =
            json!({"type": "user", "version": version, "timestamp": sandbox.last(), "message": message});
        let before = std::fs::read_to_string(sandbox.client(&lead.transcript())).unwrap_or_default();
        sandbox.write(&lead.transcript(), format!("{before}{record}\n"));
    };
    let live = |created: i64, version: &str| {
        lead.roster(created, &["alice"]);
        lead.start("resume");
        speaks(version);
        lead.hook("Stop", json!({}));
        lead.erase();
        lead.end("other");
    };
    let versions = |run: &Value| -> Value {
        let report = sandbox.printed(&["report", run.as_str().unwrap(), "--format", "json"]);
        serde_json::from_str::<Value>(&report).unwrap()["overview"]["client_versions"].clone()
    };
    live(1_770_091_506_000, "2.1.177");
    sandbox.set_clock(60_000);
    live(1_770_091_566_000, "2.1.330");
    let teams = sandbox.teams();
    let told: Vec<Value> = teams.iter().map(|team| versions(&team["run"])).collect();
    assert_eq!(told, [json!(["2.1.177"]), json!(["2.1.330"])]);
}

#[test]
fn resumed_session_does_not_repeat_created_or_completed_tasks() {
    let sandbox = Sandbox::new();
    let _client = resumed(&sandbox);
    let entries = sandbox.replay("latest");
    assert_eq!((count(&entries, "task-created"), count(&entries, "task-completed")), (0, 0));
    let found: Vec<Value> = (entries.iter().filter(|entry| entry["kind"] == "task-found"))
        .map(|entry| json!([entry["actor"], entry["task"], entry.get("from_status"), entry["to_status"]]))
        .collect();
    assert_eq!(found, [json!(["client", "1", null, "pending"]), json!(["client", "2", null, "completed"])]);
    let told = sandbox.printed(&["log"]);
    assert!(told.contains("Claude Code already had task 2, completed: Task 2\n"), "{told}");
    assert_eq!(sandbox.teams()[1]["tasks"], 2);
}

#[test]
fn task_in_progress_is_started_once_in_two_runs_of_a_session() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    let started =
        json!({"success": true, "taskId": "1", "statusChange": {"from": "pending", "to": "in_progress"}});
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.task("1", "pending", None);
    lead.hook("TaskCreated", json!({"task_id": "1", "task_subject": "Task 1"}));
    let update = json!({"taskId": "1", "status": "in_progress", "owner": "alice"});
    lead.before("t1", "TaskUpdate", &update, json!({"agent_id": "aalice-1", "agent_type": "alice"}));
    lead.task("1", "in_progress", Some("alice"));
    lead.after("t1", "TaskUpdate", &update, started, json!({"agent_id": "aalice-1", "agent_type": "alice"}));
    lead.erase();
    lead.end("prompt_input_exit");
    lead.roster(2_000, &[]);
    lead.start("resume");
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    let runs: Vec<Vec<Value>> =
        sandbox.teams().iter().map(|run| sandbox.replay(run["run"].as_str().unwrap())).collect();
    let kinds = |kind: &str| runs.iter().map(|run| count(run, kind)).collect::<Vec<_>>();
    assert_eq!((kinds("task-changed"), kinds("task-found")), (vec![1, 0], vec![0, 1]), "{runs:#?}");
    let found = only(&runs[1], "task-found");
    assert_eq!([&found["actor"], &found["to_status"], &found["owner"]], ["client", "in_progress", "alice"]);
    assert!(sandbox.printed(&["log"]).contains("Claude Code already had task 1, in_progress: Task 1"));
}

#[test]
fn resumed_client_with_the_same_team_continues_the_run() {
    let sandbox = Sandbox::new();
    let gone = ended_process();
    let mut lead = Lead { pid: Some(gone), ..Lead::of(&sandbox, ONE) };
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": gone}}));
    lead.start("startup");
    let client = Client::start();
    lead.pid = Some(client.0.id());
    lead.start("resume");
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&Value::Null]);
    assert_eq!(count(&sandbox.replay("latest"), "session-started"), 2);
}

#[test]
fn task_list_without_a_team_is_not_a_run() {
    let sandbox = Sandbox::new();
    let client = Client::start();
    let mut lead = led(&sandbox, &client);
    // Of a session that runs without a team beside it.
    sandbox
        .write("tasks/cccccccc-0000-4000-8000-000000000003/1.json", json!({"id": "1", "status": "pending"}));
    lead.hook("FileChanged", json!({"file_path": sandbox.client("tasks/cccccccc-0000-4000-8000-000000000003/1.json"), "event": "add"}));
    lead.end("clear");
    lead.session = TWO.to_owned();
    lead.start("clear");
    let pointer = "tasks/session-bbbbbbbb/.session-list";
    sandbox.write(pointer, "session-aaaaaaaa");
    lead.hook("FileChanged", json!({"file_path": sandbox.client(pointer), "event": "add"}));
    assert_eq!(rows(&sandbox.teams(), "team"), [&json!("session-aaaaaaaa")]);
    assert_eq!(sandbox.library().find("latest").unwrap().team.as_deref(), Some("session-aaaaaaaa"));
    assert_eq!(sandbox.log().last().unwrap()["team"], "session-aaaaaaaa", "the call is its all the same");
}

#[test]
fn directory_renamed_for_deletion_is_not_a_team() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let going = "teams/session-aaaaaaaa.deleted-8afb054a-ce10-4678-9ccd-34ab3770e7a1/config.json";
    let config = std::fs::read_to_string(sandbox.client("teams/session-aaaaaaaa/config.json")).unwrap();
    lead.erase();
    sandbox.write(going, config);
    lead.hook("FileChanged", json!({"file_path": sandbox.client(going), "event": "unlink"}));
    lead.end("prompt_input_exit");
    assert_eq!(rows(&sandbox.teams(), "team"), [&json!("session-aaaaaaaa")]);
    assert_eq!(sandbox.library().runs.len(), 1);
}

#[test]
fn unused_team_is_neither_listed_nor_the_latest_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    // A client that finds nothing to resume says so and goes, and leaves what it had made.
    let other = Lead::of(&sandbox, TWO);
    other.config(2_000, &[], json!({"leadProcess": {"pid": ended_process()}}));
    lead.hook(
        "FileChanged",
        json!({"file_path": sandbox.client("teams/session-bbbbbbbb/config.json"), "event": "add"}),
    );
    lead.hook("Stop", json!({}));
    let listed: Vec<Value> = serde_json::from_str(&sandbox.printed(&["teams", "--json"])).unwrap();
    assert_eq!(rows(&listed, "team"), [&json!("session-aaaaaaaa")]);
    assert_eq!(sandbox.teams().len(), 2, "with --all it is");
    assert_eq!(sandbox.library().find("latest").unwrap().team.as_deref(), Some("session-aaaaaaaa"));
}

#[test]
fn session_resumed_while_its_team_is_recreated_does_not_reopen_a_run() {
    let sandbox = Sandbox::new();
    let client = Client::start();
    let mut lead = Lead { pid: Some(ended_process()), ..Lead::of(&sandbox, ONE) };
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.erase();
    lead.end("prompt_input_exit");
    let ended = sandbox.teams()[0]["ended_at"].clone();
    lead.pid = Some(client.0.id());
    // The directory comes first, its configuration a moment later.
    std::fs::create_dir_all(sandbox.client("teams/session-aaaaaaaa")).unwrap();
    lead.start("resume");
    lead.config(2_000, &[], json!({"leadProcess": {"pid": client.0.id()}}));
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("session-end"), &Value::Null]);
    assert_eq!(teams[0]["ended_at"], ended);
    assert_eq!(only(&sandbox.replay("latest"), "session-started")["summary"], "resume");
}

#[test]
fn session_moved_to_the_background_is_continued_and_has_not_crashed() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.task("1", "in_progress", Some("alice"));
    lead.hook("Stop", json!({}));
    // 2.1.332 deletes the team, and a daemon starts a session with another ID and a team of the lead only.
    lead.erase();
    lead.end("prompt_input_exit");
    let client = Client::start();
    let fork = Lead { pid: Some(client.0.id()), ..Lead::of(&sandbox, TWO) };
    fork.config(2_000, &[], json!({"leadProcess": {"pid": client.0.id()}}));
    fork.start("fork");
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("session-end"), &Value::Null]);
    let [before, after] = [0, 1].map(|place| teams[place]["run"].as_str().unwrap());
    assert_eq!(only(&sandbox.replay(after), "session-started")["summary"], "fork");
    let told = sandbox.printed(&["log", after]);
    assert!(told.contains("team-lead continued an earlier session in a new one (fork)\n"), "{told}");
    for run in [before, after] {
        let report = sandbox.printed(&["report", run, "--format", "json"]);
        assert!(!report.contains("crashed-lead"), "{report}");
    }
}
