//! A teammate that waits for the approval of its plan, in every view.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;
use crate::watch::{Watcher, after, recording};

const SESSION: &str = "6f0a9d24-0000-4000-8000-000000000001";
const MINUTE: i64 = 60_000;

/// bob with a task in progress, who asked for the approval of his plan in the second minute and ended his turn.
fn planning(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead { pid: Some(std::process::id()), ..Lead::of(sandbox, SESSION) };
    // Where Claude Code names the agent of a call, a call without one is the lead's.
    let version = json!({"type": "user", "version": "2.1.330", "sessionId": SESSION});
    sandbox.write(&lead.transcript(), format!("{version}\n"));
    lead.start("startup");
    lead.config(1, &["alice", "bob"], json!({"leadProcess": {"pid": lead.pid}}));
    lead.task("1", "in_progress", Some("bob"));
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    lead.hook("SubagentStart", by("bob"));
    sandbox.set_clock(2 * MINUTE);
    let plan = json!({"type": "plan_approval_request", "from": "bob", "timestamp": "2026-02-03T04:07:06.000Z",
        "planContent": "Tests first", "requestId": "plan-1@bob"});
    lead.inbox("team-lead", mail("bob", &plan, "2026-02-03T04:07:06.000Z"));
    lead.hook("SubagentStop", by("bob"));
    lead.hook("TeammateIdle", json!({"teammate_name": "bob"}));
    lead
}

fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-1"), "agent_type": name})
}

fn mail(from: &str, text: &Value, at: &str) -> Value {
    json!([{"from": from, "text": text.to_string(), "timestamp": at, "read": false}])
}

fn answer(lead: &Lead<'_>, approve: bool) {
    let answer = json!({"to": "bob", "message": {"type": "plan_approval_response", "request_id": "plan-1@bob",
        "approve": approve, "feedback": "see above"}});
    lead.tool("toolu_2", "SendMessage", &answer, json!({"success": true}));
}

fn bob(sandbox: &Sandbox) -> Value {
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    let members = status["teams"][0]["members"].as_array().unwrap();
    members.iter().find(|member| member["name"] == "bob").unwrap().clone()
}

fn incidents(sandbox: &Sandbox) -> Vec<Value> {
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    report["incidents"].as_array().unwrap().clone()
}

#[test]
fn it_is_waiting_and_not_idle_or_stalled() {
    let sandbox = Sandbox::new();
    let lead = planning(&sandbox);
    let found = bob(&sandbox);
    assert_eq!((&found["state"], &found["awaits_approval"]), (&json!("waiting"), &json!(true)));
    let status = sandbox.printed(&["status"]);
    let line = status.lines().find(|line| line.contains("    bob")).unwrap();
    assert!(line.contains("waiting") && line.contains("for plan approval, task 1 "), "{status}");
    let brief = sandbox.printed(&["brief", "latest"]);
    assert!(brief.contains("- bob: waiting for the lead to approve its plan for "), "{brief}");
    let screen = Watcher::new(recording(&sandbox, after(2)), after(2)).screen(110, 24);
    let line = screen.lines().find(|line| line.contains("? bob")).unwrap_or_default();
    assert!(line.contains("waiting") && line.contains("for plan approval, #1 "), "{screen}");
    sandbox.set_clock(60 * MINUTE);
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    let found = incidents(&sandbox);
    let kinds: Vec<&str> = found.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["waiting-approval"], "{found:#?}");
}

#[test]
fn an_answer_ends_the_wait_whichever_it_is() {
    for approve in [true, false] {
        let sandbox = Sandbox::new();
        let lead = planning(&sandbox);
        answer(&lead, approve);
        assert_eq!(bob(&sandbox)["state"], "idle", "{approve}");
        sandbox.set_clock(60 * MINUTE);
        lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
        let found = incidents(&sandbox);
        assert!(found.iter().all(|one| one["kind"] != "waiting-approval"), "{found:#?}");
        assert!(found.iter().any(|one| one["kind"] == "stalled-agent"), "{found:#?}");
    }
}

#[test]
fn an_answer_of_claude_code_itself_ends_the_wait() {
    let sandbox = Sandbox::new();
    let lead = planning(&sandbox);
    let response = json!({"type": "plan_approval_response", "requestId": "plan-1@bob", "approved": true,
        "timestamp": "2026-02-03T04:07:09.000Z"});
    lead.inbox("bob", mail("team-lead", &response, "2026-02-03T04:07:09.000Z"));
    lead.hook("Stop", json!({}));
    assert_eq!(bob(&sandbox)["state"], "idle");
}

#[test]
fn a_teammate_that_leaves_or_works_on_waits_no_longer() {
    let sandbox = Sandbox::new();
    let lead = planning(&sandbox);
    lead.config(1, &["alice"], json!({"leadProcess": {"pid": lead.pid}}));
    lead.hook("Stop", json!({}));
    assert_eq!(bob(&sandbox)["state"], "left");
    sandbox.set_clock(60 * MINUTE);
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    assert!(incidents(&sandbox).iter().all(|one| one["kind"] != "waiting-approval"));
    let sandbox = Sandbox::new();
    let lead = planning(&sandbox);
    lead.hook("SubagentStart", by("bob"));
    assert_eq!(bob(&sandbox)["state"], "working");
    let input = json!({"taskId": "1", "status": "completed"});
    lead.before("toolu_3", "TaskUpdate", &input, by("bob"));
    lead.task("1", "completed", Some("bob"));
    lead.after("toolu_3", "TaskUpdate", &input, json!({"success": true, "taskId": "1"}), by("bob"));
    lead.hook("SubagentStop", by("bob"));
    assert_eq!(bob(&sandbox)["state"], "idle", "the answer was not recorded");
    sandbox.set_clock(60 * MINUTE);
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    assert!(incidents(&sandbox).iter().all(|one| one["kind"] != "waiting-approval"));
}

#[test]
fn an_approval_that_was_not_recorded_excuses_no_later_silence() {
    let sandbox = Sandbox::new();
    let lead = planning(&sandbox);
    sandbox.set_clock(4 * MINUTE);
    lead.hook("SubagentStart", by("bob"));
    lead.before("toolu_4", "TaskUpdate", &json!({"taskId": "2", "status": "in_progress"}), by("bob"));
    lead.task("2", "pending", Some("bob"));
    lead.hook("Stop", json!({}));
    lead.task("2", "in_progress", Some("bob"));
    let answer =
        json!({"success": true, "taskId": "2", "statusChange": {"from": "pending", "to": "in_progress"}});
    lead.after("toolu_4", "TaskUpdate", &json!({"taskId": "2", "status": "in_progress"}), answer, by("bob"));
    sandbox.set_clock(60 * MINUTE);
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    let found = incidents(&sandbox);
    assert!(
        found.iter().any(|one| one["kind"] == "stalled-agent" && one["agents"][0] == "bob"),
        "{found:#?}"
    );
}
