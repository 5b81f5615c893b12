//! Incidents about work that an agent left and that was completed later.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;
use crate::watch::{Watcher, after, recording};
use teamkeep::watch::{Mode, Subject};

const SESSION: &str = "6f0a9d24-0000-4000-8000-000000000001";
const MINUTE: i64 = 60_000;

fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-1"), "agent_type": name})
}

/// bob has disappeared with a task in progress.
fn crashed(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead { pid: Some(std::process::id()), ..Lead::of(sandbox, SESSION) };
    // Where Claude Code names the agent of a call, a call without one is the lead's.
    let version = json!({"type": "user", "version": "2.1.330", "sessionId": SESSION});
    sandbox.write(&lead.transcript(), format!("{version}\n"));
    lead.start("startup");
    roster(&lead, &["alice", "bob"]);
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    for name in ["alice", "bob"] {
        lead.hook("SubagentStart", by(name));
    }
    sandbox.set_clock(MINUTE);
    lead.task("1", "in_progress", Some("bob"));
    lead.hook("SubagentStart", by("bob"));
    sandbox.set_clock(3 * MINUTE);
    roster(&lead, &["alice"]);
    lead.task("1", "pending", None);
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    sandbox.set_clock(4 * MINUTE);
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    lead
}

fn roster(lead: &Lead<'_>, names: &[&str]) {
    lead.config(1, names, json!({"leadProcess": {"pid": lead.pid}}));
}

fn completes(lead: &Lead<'_>, name: &str) {
    for status in ["in_progress", "completed"] {
        let input = json!({"taskId": "1", "status": status, "owner": name});
        let id = format!("toolu_{name}_{status}");
        lead.before(&id, "TaskUpdate", &input, by(name));
        lead.task("1", status, Some(name));
        lead.after(&id, "TaskUpdate", &input, json!({"success": true, "taskId": "1"}), by(name));
    }
}

fn incident(sandbox: &Sandbox) -> Value {
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let found = report["incidents"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0].clone()
}

#[test]
fn a_crash_is_resolved_when_another_agent_completes_the_work() {
    let sandbox = Sandbox::new();
    let lead = crashed(&sandbox);
    let open = incident(&sandbox);
    assert_eq!((&open["kind"], &open["severity"]), (&json!("crashed-agent"), &json!("high")));
    assert!(open["remedy"]["advice"].is_string() && open["resolved"].is_null(), "{open}");
    completes(&lead, "alice");
    let over = incident(&sandbox);
    assert_eq!((&over["id"], &over["kind"]), (&open["id"], &open["kind"]));
    assert_eq!(
        (&over["severity"], &over["resolved"], &over["remedy"], &over["cost"]["tasks_lost"]),
        (&json!("low"), &json!(true), &json!(null), &json!(0))
    );
    assert!(
        over["summary"]
            .as_str()
            .unwrap()
            .ends_with("with #1 in progress for 2 min; alice completed it later"),
        "{over}"
    );
    let report = sandbox.printed(&["report"]);
    assert!(report.contains("resolved") && !report.contains("remedy"), "{report}");
    let status = sandbox.printed(&["status"]);
    assert!(status.contains("past: bob disappeared"), "{status}");
    assert!(!sandbox.printed(&["status", "--line"]).contains("alert"));
    let mut watcher = Watcher::new(recording(&sandbox, after(60)), after(60));
    let subject = Subject::Incident(over["id"].as_str().unwrap().to_owned());
    watcher.state.mode = Mode::Details { subject, scroll: 0 };
    let details = watcher.screen(100, 24);
    assert!(details.contains("crashed-agent, resolved"), "{details}");
    // Claude Code removes completed tasks.
    std::fs::remove_file(sandbox.client(&format!("tasks/{}/1.json", lead.team))).unwrap();
    lead.hook("Stop", json!({}));
    let status = sandbox.printed(&["status"]);
    assert!(status.contains("past: bob disappeared"), "{status}");
    assert!(!sandbox.printed(&["status", "--line"]).contains("alert"));
}

#[test]
fn a_crash_is_resolved_by_a_new_agent_of_the_same_name() {
    let sandbox = Sandbox::new();
    let lead = crashed(&sandbox);
    roster(&lead, &["alice", "bob"]);
    lead.hook("SubagentStart", by("bob"));
    completes(&lead, "bob");
    let over = incident(&sandbox);
    assert_eq!(over["resolved"], true);
    assert!(over["summary"].as_str().unwrap().ends_with("; a new bob completed it later"), "{over}");
}

#[test]
fn lost_work_is_resolved_after_a_stop_too_and_at_the_end_of_the_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    // Where Claude Code names the agent of a call, a call without one is the lead's.
    let version = json!({"type": "user", "version": "2.1.330", "sessionId": SESSION});
    sandbox.write(&lead.transcript(), format!("{version}\n"));
    lead.start("startup");
    lead.roster(1, &["alice", "bob"]);
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    lead.hook("SubagentStart", by("alice"));
    lead.task("1", "in_progress", Some("bob"));
    lead.hook("SubagentStart", by("bob"));
    sandbox.set_clock(2 * MINUTE);
    lead.before("toolu_1", "TaskStop", &json!({"task_id": "bob"}), json!({}));
    lead.roster(1, &["alice"]);
    lead.task("1", "pending", None);
    lead.after("toolu_1", "TaskStop", &json!({"task_id": "bob"}), json!({"message": "ok"}), json!({}));
    completes(&lead, "alice");
    lead.erase();
    lead.end("prompt_input_exit");
    let over = incident(&sandbox);
    assert_eq!((&over["kind"], &over["resolved"]), (&json!("lost-work"), &json!(true)));
    assert!(
        over["summary"]
            .as_str()
            .unwrap()
            .starts_with("bob was stopped by team-lead with #1 in progress for "),
        "{over}"
    );
}

#[test]
fn work_of_which_a_part_is_open_is_not_resolved() {
    let sandbox = Sandbox::new();
    let lead = crashed(&sandbox);
    lead.task("1", "in_progress", Some("alice"));
    lead.hook("SubagentStart", by("alice"));
    let open = incident(&sandbox);
    assert_eq!((&open["severity"], open["resolved"].is_null()), (&json!("high"), true));
}
