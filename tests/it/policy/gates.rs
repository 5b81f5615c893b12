//! The gates at the hook, where what one call did decides about another.

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, TEAM, busy, told, with_carol};
use crate::support::reenact::{Trace, local};
use crate::support::sandbox::{CommandResult, Sandbox};

const BEGAN: &str = "2026-02-03T04:05:06.000Z";

fn call(tool: &str, id: &str, input: Value) -> Value {
    json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": id, "tool_input": input})
}

fn came_back(mut call: Value, response: Value) -> Value {
    (call["hook_event_name"], call["tool_response"]) = (json!("PostToolUse"), response);
    call
}

fn ask() -> Value {
    ask_as("ask")
}

/// A request of its own: the client announces one call twice, and never gives two the same id.
fn ask_as(id: &str) -> Value {
    call("SendMessage", id, json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}}))
}

/// bob agrees to stop.
fn agrees(sandbox: &Sandbox) -> CommandResult {
    let answer = json!({"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": true});
    let id = format!("agree-{}", sandbox.millis());
    let mut call = call("SendMessage", &id, json!({"to": "team-lead", "message": answer}));
    (call["agent_id"], call["agent_type"]) = (json!("abob-1"), json!("bob"));
    told(sandbox, call)
}

#[test]
fn the_lead_of_a_recorded_run_cannot_stop_while_the_owner_is_idle() {
    for (name, stops) in
        [("v47-inprocess", 1), ("v177-inprocess", 0), ("v328-inprocess", 3), ("v328-panes", 1)]
    {
        let sandbox = Sandbox::judging();
        sandbox.write_config("[policy.lead-stops-early]\nmode = \"block\"\n");
        let answers = Trace::read(name, BEGAN).answers(&sandbox);
        let refused = answers.iter().filter(|(payload, result)| {
            payload["hook_event_name"] == "Stop" && result.code == Some(2) && result.err.contains("task 2 ")
        });
        assert_eq!(refused.count(), stops, "{name}");
    }
}

#[test]
fn a_busy_teammate_is_not_stopped_by_its_listed_id() {
    for (name, id, other) in
        [("v177-inprocess", "tdavuffwh", "twfowgdq2"), ("v328-inprocess", "trnjrafg5", "tq4g941l3")]
    {
        let sandbox = Sandbox::judging();
        let mut trace = Trace::read(name, BEGAN);
        trace.steps.truncate(60);
        trace.answers(&sandbox);
        let lead = trace.steps.iter().map(|step| &step["payload"]);
        let mut lead = lead.filter(|payload| {
            payload["hook_event_name"] == "PreToolUse" && payload.get("agent_id").is_none()
        });
        let mut stop = lead.next().unwrap().clone();
        (stop["tool_name"], stop["tool_use_id"]) = (json!("TaskStop"), json!("stop"));
        let mut stopped = |id: &str| {
            stop["tool_input"] = json!({"task_id": id});
            sandbox.feed("pre-tool-use", local(&sandbox, &stop.to_string()).as_bytes(), &[])
        };
        let result = stopped(id);
        assert!(
            result.code == Some(2) && result.err.contains("stopping bob, who still owns task 2 "),
            "{name}: {result:?}"
        );
        assert_eq!(stopped(other).code, Some(0), "{name}: alice is done");
    }
}

#[test]
fn a_warned_request_does_not_allow_the_approval() {
    let sandbox = busy("[policy.premature-shutdown]\nmode = \"warn\"\n");
    assert_eq!(told(&sandbox, ask()).code, Some(0));
    sandbox.write_config("");
    assert_eq!(agrees(&sandbox).code, Some(2));
    let again = |id: &str| {
        sandbox.think();
        told(&sandbox, ask_as(id)).code
    };
    let tries: Vec<_> = ["2", "3", "4"].map(again).to_vec();
    assert_eq!(tries, [Some(2), Some(2), Some(0)], "the approval was the first of three");
    assert_eq!(agrees(&sandbox).code, Some(0), "one that was allowed does");
}

#[test]
fn a_failed_request_does_not_allow_the_approval() {
    let sandbox = busy("");
    let allow = || assert_eq!(sandbox.run(&["allow", "bob", "--force"]).code, Some(0));
    allow();
    assert_eq!(told(&sandbox, ask()).code, Some(0));
    told(&sandbox, came_back(ask(), json!({"success": false, "message": "no such agent"})));
    assert_eq!(agrees(&sandbox).code, Some(2));
    allow();
    assert_eq!(told(&sandbox, ask_as("2")).code, Some(0));
    told(&sandbox, came_back(ask_as("2"), json!({"success": true, "request_id": "shutdown-1@bob"})));
    assert_eq!(agrees(&sandbox).code, Some(0));
}

#[test]
fn a_warning_does_not_use_up_an_allowance() {
    let sandbox = busy("");
    assert_eq!(sandbox.run(&["allow", "bob", "--force"]).code, Some(0));
    let stop = told(&sandbox, call("TaskStop", "stop", json!({"task_id": "t1x"})));
    assert!(stop.code == Some(0) && stop.out.contains("which may be bob"), "{}", stop.out);
    assert_eq!(told(&sandbox, ask()).code, Some(0));
    assert_eq!(told(&sandbox, ask_as("2")).code, Some(2));
}

#[test]
fn a_request_to_everyone_counts_like_one_to_a_single_name() {
    let sandbox = busy("");
    with_carol(&sandbox);
    let all = json!({"to": "*", "message": {"type": "shutdown_request", "reason": "done"}});
    let again = |_| {
        sandbox.think();
        told(&sandbox, call("SendMessage", "all", all.clone())).code
    };
    let codes: Vec<_> = (0..5).map(again).collect();
    assert_eq!(codes, [Some(2), Some(2), Some(2), Some(0), Some(0)]);
    assert_eq!(told(&sandbox, ask()).code, Some(2), "one to bob alone was not tried");
}

#[test]
fn a_name_that_is_too_long_is_not_stored() {
    let sandbox = busy("[policy]\non-error = \"block\"\n");
    let name = "x".repeat(9 << 20);
    told(&sandbox, call("Agent", "spawn", json!({"name": name, "prompt": "Go."})));
    told(&sandbox, call("Read", &name, json!({})));
    let asked = told(&sandbox, ask());
    assert!(asked.code == Some(2) && asked.err.contains("task 2"), "{}", asked.err);
}

#[test]
fn overlapping_spawns_stay_within_the_limit() {
    let sandbox = busy("[policy.team-size]\nmode = \"block\"\nmost = 2\n");
    let spawn = |name: &str| told(&sandbox, call("Agent", name, json!({"name": name, "prompt": "Go."})));
    let codes: Vec<_> = ["carol", "dave", "erin"].into_iter().map(|name| spawn(name).code).collect();
    assert_eq!(codes, [Some(0), Some(2), Some(2)]);
    told(&sandbox, json!({"hook_event_name": "Stop"}));
    assert_eq!(spawn("dave").code, Some(0), "carol never came back");
}

#[test]
fn a_report_counts_although_the_clock_was_set_back() {
    let sandbox = busy("[policy.report-before-idle]\nmode = \"block\"\n");
    let say = |to: &str, text: &str| call("SendMessage", text, json!({"to": to, "message": text}));
    let sent = json!({"success": true});
    let at = |time: &str, mut payload: Value| {
        (payload["session_id"], payload["cwd"]) = (json!(SESSION), json!(sandbox.home().join("parser")));
        sandbox.feed("", payload.to_string().as_bytes(), &[("TEAMKEEP_NOW", time)])
    };
    at("2026-02-03T12:00:00Z", came_back(say("bob", "Review it."), sent.clone()));
    let mut report = came_back(say("team-lead", "It is good."), sent);
    report["agent_id"] = json!("abob-1");
    report["agent_type"] = json!("bob");
    at("2026-02-03T11:00:00Z", report);
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": TEAM});
    let result = at("2026-02-03T11:00:01Z", idle);
    assert_eq!(result.code, Some(0), "{}", result.err);
}
