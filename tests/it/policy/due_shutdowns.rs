//! Shutdowns that are due, and calls that stop nobody who works: the gate refuses none of them.

use serde_json::{Value, json};

use super::gate_sandbox::TEAM;
use super::stop_tables::{after, agent_id, before, crew, flat_crew, hook, mate, request, roster, stop, task};
use crate::support::sandbox::{CommandResult, Sandbox};

/// What happens before the call.
type Setup = fn(&Sandbox);

fn nothing(_: &Sandbox) {}

fn flat(kind: &str, to: &str) -> (&'static str, Value) {
    ("SendMessage", json!({"type": kind, "recipient": to, "content": "Please stop when you are done."}))
}

fn plain(to: &str) -> (&'static str, Value) {
    ("SendMessage", json!({"to": to, "summary": "later", "message": "Please stop when you are done."}))
}

fn delete() -> (&'static str, Value) {
    ("TeamDelete", json!({}))
}

fn run(sandbox: &Sandbox, line: &str) {
    let args: Vec<&str> = line.split(' ').collect();
    let result = sandbox.run(&args);
    assert_eq!(result.code, Some(0), "{line}: {result:?}");
}

fn is_let_through(result: &CommandResult, what: &str) {
    assert_eq!(result.code, Some(0), "{what}: {result:?}");
    assert!(!result.out.contains("teamkeep"), "{what}: {result:?}");
}

/// Neither of the two who work has work any more.
fn all_done(sandbox: &Sandbox) {
    task(sandbox, 2, "completed", "bob");
    task(sandbox, 3, "completed", "my-agent");
}

fn gone(sandbox: &Sandbox) {
    after(
        sandbox,
        "TaskStop",
        &json!({"task_id": "bob"}),
        &json!({"message": "Successfully stopped task: t1 (Job of bob)", "task_id": "t1", "task_type": "in_process_teammate"}),
    );
    roster(sandbox, &["team-lead", "my-agent", "carol", "dave", "eve"]);
}

#[test]
fn a_teammate_without_work_in_progress_can_be_stopped() {
    let (eve, id) = (agent_id("eve"), format!("carol@{TEAM}"));
    let rows = [
        ("no task", request("eve")),
        ("no task, spelled", request("ＥＶＥ\u{200b}")),
        ("no task, 2.1.47", flat("shutdown_request", "eve")),
        ("no task, at once", stop("eve")),
        ("no task, by its id", stop(&eve)),
        ("all work completed", request("carol")),
        ("all work completed, 2.1.47", flat("shutdown_request", "carol@parser-team")),
        ("all work completed, at once", stop(&id)),
        ("all work completed, by the old parameter", ("TaskStop", json!({"shell_id": "carol"}))),
        ("a task that it has not begun", request("dave")),
        ("a task that it has not begun, at once", stop("Dave")),
    ];
    let sandbox = crew("");
    for (what, (tool, input)) in rows {
        is_let_through(&before(&sandbox, tool, &input, &json!({})), what);
    }
}

#[test]
fn a_teammate_without_work_may_approve_its_shutdown() {
    let (sandbox, flat_stage) = (crew(""), flat_crew(""));
    for name in ["carol", "dave", "eve"] {
        let id = format!("shutdown-1700000000000@{name}");
        let response = json!({"type": "shutdown_response", "request_id": id, "approve": true});
        let input = json!({"to": "team-lead", "message": response});
        is_let_through(&before(&sandbox, "SendMessage", &input, &mate(name)), name);
        let (tool, input) = flat("shutdown_request", name);
        is_let_through(&before(&flat_stage, tool, &input, &json!({})), "the request of 2.1.47");
        after(&flat_stage, tool, &input, &json!({"success": true, "request_id": id, "target": name}));
        is_let_through(&before(&flat_stage, "SendMessage", &response, &json!({})), "the approval of 2.1.47");
    }
}

#[test]
fn an_action_that_stops_no_teammate_is_allowed() {
    let reject = json!({"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": false, "reason": "not yet"});
    let plan = json!({"type": "plan_approval_response", "request_id": "plan-1@bob", "approve": true});
    let rows = [
        ("a message", plain("bob")),
        ("a message by the beginning of a name", plain("my-a")),
        ("a message by a reference", plain("bob [d19019]")),
        ("a message of 2.1.47", flat("message", "bob")),
        ("a message to all of 2.1.47", flat("broadcast", "")),
        ("an answer to a plan", ("SendMessage", json!({"to": "bob", "message": plan}))),
        ("a refusal to stop", ("SendMessage", json!({"to": "team-lead", "message": reject}))),
        ("a name with more letters", stop("bobx")),
        ("a name with a dot", stop("bob.")),
        ("a background shell", stop("b7f3a21c0")),
        ("a subagent", stop("a1b2c3d4e5f60718")),
        (
            "a text that speaks of a request",
            (
                "SendMessage",
                json!({"to": "bob", "message": "shutdown_request? {\"type\":\"shutdown_request\"} is what I would send."}),
            ),
        ),
    ];
    let sandbox = crew("");
    for (what, (tool, input)) in rows {
        is_let_through(&before(&sandbox, tool, &input, &json!({})), what);
    }
    // Whom the client will not find is not held back either; the sender reads who is there.
    for word in ["nobody", "bоb", "my-ag", "bob [d19019]"] {
        let (tool, input) = request(word);
        let result = before(&sandbox, tool, &input, &json!({}));
        assert!(result.code == Some(0) && result.out.contains("not in the team"), "{word}: {result:?}");
    }
}

#[test]
fn finished_work_blocks_no_shutdown() {
    let rows: [(&str, Setup); 7] = [
        ("the lead completed the task", |sandbox| task(sandbox, 2, "completed", "bob")),
        ("the lead deleted it", |sandbox| {
            std::fs::remove_file(sandbox.client(&format!("tasks/{TEAM}/2.json"))).unwrap();
        }),
        ("the lead took the owner away", |sandbox| task(sandbox, 2, "in_progress", "")),
        ("the owner is nobody", |sandbox| task(sandbox, 2, "in_progress", "@")),
        ("the lead gave it to another", |sandbox| task(sandbox, 2, "in_progress", "carol")),
        ("the lead put it back", |sandbox| task(sandbox, 2, "pending", "bob")),
        ("it is a tracker of 2.1.47", |sandbox| {
            let tracker = json!({"id": "2", "subject": "bob", "status": "in_progress", "metadata": {"_internal": true}});
            sandbox.write(&format!("tasks/{TEAM}/2.json"), tracker);
        }),
    ];
    for (what, set_up) in rows {
        let sandbox = crew("");
        set_up(&sandbox);
        for (tool, input) in [request("bob"), flat("shutdown_request", "bob"), stop("bob")] {
            is_let_through(&before(&sandbox, tool, &input, &json!({})), what);
        }
    }
}

#[test]
fn overrides_allow_the_action() {
    let rows: [(&str, &str, Setup); 8] = [
        ("exempt", "[policy.premature-shutdown]\nexempt = [\"bob\"]\n", nothing),
        ("exempt, spelled", "[policy.premature-shutdown]\nexempt = [\"BOB\"]\n", nothing),
        ("off", "[policy.premature-shutdown]\nmode = \"off\"\n", nothing),
        ("allowed once", "", |sandbox| run(sandbox, "allow bob")),
        ("allowed once, spelled", "", |sandbox| run(sandbox, "allow Bob")),
        ("the gate paused", "", |sandbox| run(sandbox, "pause premature-shutdown 30m")),
        ("the gate paused in the team", "", |sandbox| {
            run(sandbox, "pause premature-shutdown --team parser-team 30m");
        }),
        ("all gates paused", "", |sandbox| run(sandbox, "pause 30m")),
    ];
    for (what, policy, set_up) in rows {
        for (tool, input) in [request("bob"), flat("shutdown_request", "bob"), stop("ｂｏｂ")] {
            let sandbox = crew(policy);
            set_up(&sandbox);
            is_let_through(&before(&sandbox, tool, &input, &json!({})), what);
        }
    }
}

#[test]
fn a_teammate_whose_shutdown_was_allowed_may_approve_it() {
    let sandbox = crew("");
    run(&sandbox, "allow bob");
    let (tool, input) = request("bob");
    is_let_through(&before(&sandbox, tool, &input, &json!({})), "the request");
    after(&sandbox, tool, &input, &json!({"success": true, "request_id": "shutdown-1@bob", "target": "bob"}));
    let response = json!({"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": true});
    let approval = json!({"to": "team-lead", "message": response});
    is_let_through(&before(&sandbox, "SendMessage", &approval, &mate("bob")), "the approval");
}

#[test]
fn a_team_without_open_work_can_be_deleted() {
    let rows: [(&str, Setup); 4] = [
        ("all work is completed", all_done),
        ("what is left is the lead's", |sandbox| {
            all_done(sandbox);
            task(sandbox, 6, "in_progress", "team-lead");
        }),
        ("what is left is nobody's", |sandbox| {
            all_done(sandbox);
            task(sandbox, 6, "pending", "");
        }),
        ("who worked has left", |sandbox| {
            task(sandbox, 3, "completed", "my-agent");
            gone(sandbox);
        }),
    ];
    for (what, set_up) in rows {
        let sandbox = crew("");
        set_up(&sandbox);
        let (tool, input) = delete();
        is_let_through(&before(&sandbox, tool, &input, &json!({})), what);
    }
}

#[test]
fn a_request_to_everyone_is_allowed_when_all_are_done() {
    let sandbox = crew("");
    all_done(&sandbox);
    let all = json!({"to": "*", "message": {"type": "shutdown_request", "reason": "done"}});
    is_let_through(&before(&sandbox, "SendMessage", &all, &json!({})), "to all");
    assert_eq!(hook(&sandbox, "Stop", json!({})).code, Some(0));
}
