//! How runs begin and go on, in scenes that no recorded run has.

use serde_json::{Value, json};

use crate::store::run_sandbox::{Client, ONE, TWO, begin, led, rows};
use crate::support::client_files::{Lead, count, only};
use crate::support::sandbox::Sandbox;

#[test]
fn clear_continues_the_run_under_a_new_session() {
    let sandbox = Sandbox::new();
    let client = Client::start();
    let mut lead = led(&sandbox, &client);
    lead.end("clear");
    lead.session = TWO.to_owned();
    lead.start("clear");
    lead.hook("UserPromptSubmit", json!({"prompt": "again"}));

    let teams = sandbox.teams();
    assert_eq!(
        (rows(&teams, "team"), &teams[0]["ended_by"]),
        (vec![&json!("session-aaaaaaaa")], &Value::Null)
    );
    let log = sandbox.log();
    let last = log.last().unwrap();
    assert_eq!((&last["team"], &last["run"]), (&json!("session-aaaaaaaa"), &teams[0]["run"]));
    assert_eq!(last["actor"], json!({"name": "team-lead", "id": null, "kind": "lead"}));
    let entries = sandbox.replay("latest");
    let prompts: Vec<&Value> =
        entries.iter().filter(|entry| entry["kind"] == "turn-started").map(|entry| &entry["text"]).collect();
    assert_eq!(prompts, [&json!("again")]);
    assert_eq!((count(&entries, "session-started"), count(&entries, "session-ended")), (2, 1));

    lead.erase();
    lead.end("prompt_input_exit");
    assert_eq!(rows(&sandbox.teams(), "ended_by"), [&json!("session-end")]);
    drop(client);
}

#[test]
fn tasks_created_after_clear_are_stored_with_earlier_tasks() {
    let sandbox = Sandbox::new();
    let client = Client::start();
    let pid = client.0.id();
    let mut lead = Lead { pid: Some(pid), ..Lead::of(&sandbox, ONE) };
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": pid}}));
    lead.task("1", "pending", None);
    lead.start("startup");
    lead.end("clear");
    lead.session = TWO.to_owned();
    lead.start("clear");
    sandbox.write("tasks/session-bbbbbbbb/1.json", json!({"id": "1", "subject": "New", "status": "pending"}));
    lead.hook("UserPromptSubmit", json!({"prompt": "again"}));
    sandbox
        .write("tasks/session-bbbbbbbb/1.json", json!({"id": "1", "subject": "New", "status": "completed"}));
    lead.hook("Stop", json!({}));

    let shown = sandbox.show(&["latest"]);
    assert_eq!(shown["tasks"]["1"]["subject"], "Task 1");
    assert_eq!(shown["tasks"]["session-bbbbbbbb/1"]["status"], "completed");

    // Also when what was remembered of the team is lost.
    std::fs::write(sandbox.keep("teams/open/team-session-aaaaaaaa.json"), "damaged").unwrap();
    lead.hook("Stop", json!({}));
    sandbox.write("tasks/session-bbbbbbbb/1.json", json!({"id": "1", "subject": "New", "status": "pending"}));
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.show(&["latest"])["tasks"]["session-bbbbbbbb/1"]["status"], "pending");
    assert!(sandbox.replay("latest").iter().all(|entry| entry["kind"] != "task-erased"));
}

#[test]
fn resumed_session_is_a_new_run_that_continues_the_previous_run() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    lead.erase();
    lead.end("prompt_input_exit");
    lead.roster(2_000, &[]);
    lead.start("resume");

    let library = sandbox.library();
    assert_eq!(library.runs.len(), 2);
    assert_eq!(library.runs[1].continues.as_ref(), Some(&library.runs[0].run));
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("session-end"), &Value::Null]);
    assert_eq!(teams[1]["members"], json!(["team-lead"]), "nobody comes back by himself");
    assert_eq!(sandbox.show(&["latest"])["tasks"]["1"]["status"], "pending", "the task list is still there");
    assert_eq!(sandbox.log().last().unwrap()["run"], teams[1]["run"]);
}

#[test]
fn team_name_reused_by_another_session_is_a_new_run() {
    let sandbox = Sandbox::new();
    let first = Lead::named(&sandbox, ONE, "parser-team");
    first.roster(1_000, &["alice"]);
    first.start("startup");
    first.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let second = Lead::named(&sandbox, TWO, "parser-team");
    second.roster(2_000, &["bob"]);
    second.start("startup");
    second.hook("UserPromptSubmit", json!({"prompt": "me too"}));

    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("replaced"), &Value::Null]);
    assert_eq!(rows(&teams, "members"), [&json!(["team-lead", "alice"]), &json!(["team-lead", "bob"])]);
    assert!(sandbox.library().runs.iter().all(|run| run.continues.is_none()));
    for (run, prompt) in [(0, "go"), (1, "me too")] {
        let entries = sandbox.replay(teams[run]["run"].as_str().unwrap());
        assert_eq!(only(&entries, "turn-started")["text"], prompt);
    }
    assert_eq!(
        sandbox.replay("parser-team"),
        sandbox.replay(teams[1]["run"].as_str().unwrap()),
        "the last by name"
    );
}

#[test]
fn concurrent_teams_are_separate_runs() {
    let sandbox = Sandbox::new();
    let (one, two) = (Lead::of(&sandbox, ONE), Lead::of(&sandbox, TWO));
    one.roster(1_000, &["alice"]);
    one.start("startup");
    two.roster(2_000, &["alice"]);
    two.start("startup");
    for (lead, word) in [(&one, "first"), (&two, "second"), (&one, "third"), (&two, "fourth")] {
        lead.task(word, "pending", None);
        lead.hook("UserPromptSubmit", json!({"prompt": word}));
        let input = json!({"to": "alice", "message": word});
        lead.tool(word, "SendMessage", &input, json!({"success": true}));
    }
    one.erase();
    one.end("prompt_input_exit");
    two.hook("Stop", json!({}));

    for (team, words, ended) in [
        ("session-aaaaaaaa", ["first", "third"], json!("session-end")),
        ("session-bbbbbbbb", ["second", "fourth"], Value::Null),
    ] {
        let entries = sandbox.replay(team);
        let told = |kind: &str| -> Vec<Value> {
            entries.iter().filter(|entry| entry["kind"] == kind).map(|entry| entry["text"].clone()).collect()
        };
        assert_eq!(
            (told("message"), told("turn-started")),
            (words.map(Value::from).into(), words.map(Value::from).into())
        );
        let shown = sandbox.show(&[team]);
        assert_eq!(shown["tasks"].as_object().unwrap().len(), 2);
        assert!(words.iter().all(|word| shown["tasks"][word].is_object()), "{shown}");
        let teams = sandbox.teams();
        assert_eq!(teams.iter().find(|row| row["team"] == team).unwrap()["ended_by"], ended);
    }
}

#[test]
fn session_with_subagents_but_no_team_is_a_separate_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.start("startup");
    assert_eq!(sandbox.teams(), Vec::<Value>::new(), "a session alone is no run");
    let scout = json!({"agent_id": "a1", "agent_type": "Explore"});
    lead.hook("SubagentStart", scout.clone());
    lead.hook("SubagentStop", scout);
    lead.end("other");

    let teams = sandbox.teams();
    assert_eq!(
        (rows(&teams, "team"), rows(&teams, "ended_by")),
        (vec![&Value::Null], vec![&json!("session-end")])
    );
    assert_eq!(
        sandbox.run(&["teams"]).err,
        "no team runs recorded; list sessions without a team: teamkeep list --all\n"
    );
    let entries = sandbox.replay("latest");
    assert_eq!(only(&entries, "session-started")["actor"], "lead", "also what was before the first subagent");
    assert_eq!(
        (&only(&entries, "turn-started")["actor"], &only(&entries, "turn-ended")["agent"]),
        (&json!("Explore"), &json!("a1"))
    );
}

#[test]
fn events_without_team_name_are_assigned_by_other_fields() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    let alice = json!({"agent_id": "aalice-1", "agent_type": "alice"});
    lead.hook("SubagentStart", alice);
    lead.hook("TeammateIdle", json!({"teammate_name": "alice"}));
    let log = sandbox.log();
    for event in &log[2..] {
        assert_eq!((&event["team"], &event["actor"]["name"]), (&json!("session-aaaaaaaa"), &json!("alice")));
        assert_eq!(event["actor"]["kind"], "teammate");
    }
}
