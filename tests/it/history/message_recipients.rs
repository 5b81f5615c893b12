//! Messages are told once and to whom they reached, however their recipients and senders are spelled.

use serde_json::{Value, json};

use crate::support::client_files::{Lead, only};
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    lead.hook("SubagentStart", json!({"agent_id": "abob-1f", "agent_type": "bob"}));
    lead
}

fn mail(from: &str, text: &str, at: &str, id: &str) -> Value {
    json!({"from": from, "text": text, "timestamp": at, "msg_id": id, "read": false})
}

/// Bob reads it, and his transcript has it.
fn heard(lead: &Lead<'_>, from: &str, text: &str) {
    let result = format!("<teammate-message teammate_id=\"{from}\">\n{text}\n</teammate-message>");
    let record = json!({"type": "user", "timestamp": lead.sandbox.last(), "message": {"content": result}});
    let transcript = format!("projects/-home-dev-parser/{SESSION}/subagents/agent-abob-1f.jsonl");
    lead.sandbox.write(&transcript, format!("{record}\n"));
    lead.hook("SubagentStop", json!({"agent_id": "abob-1f", "agent_type": "bob"}));
}

/// What is told of the lead's message to this recipient, when the client answers so.
fn told(to: &str, answer: &Value, lies_in_inbox: bool) -> (String, Value) {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let input = json!({"to": to, "summary": "go", "message": "Go on"});
    lead.before("u1", "SendMessage", &input, json!({}));
    if lies_in_inbox {
        lead.inbox("bob", json!([mail("team-lead", "Go on", &sandbox.last(), "m1")]));
    }
    lead.after("u1", "SendMessage", &input, answer.clone(), json!({}));
    heard(&lead, "team-lead", "Go on");
    let entries = sandbox.replay("latest");
    let told = only(&entries, "message");
    (told["to"].as_str().unwrap().to_owned(), told["sources"].clone())
}

#[test]
fn message_is_shown_once_with_its_actual_recipient_for_any_spelling() {
    let routed =
        json!({"success": true, "msg_id": "m1", "routing": {"sender": "team-lead", "target": "@bob"}});
    // For an agent's id 2.1.328 has no routing.
    let queued = json!({"success": true, "msg_id": "m1", "pin": {"id": "abob-1f", "name": "abob-1f"}});
    for (to, answer) in [("bob", &routed), ("BOB", &routed), ("Bob", &json!({})), ("abob-1f", &queued)] {
        for lies_in_inbox in [true, false] {
            let (reached, sources) = told(to, answer, lies_in_inbox);
            assert_eq!(reached, "bob", "{to}");
            let wanted: &[&str] =
                if lies_in_inbox { &["hook", "inbox", "transcript"] } else { &["hook", "transcript"] };
            assert_eq!(sources, json!(wanted), "{to}");
        }
    }
}

#[test]
fn message_without_tool_response_uses_the_requested_recipient() {
    for to in ["bob\u{200b}", "\u{2066}Bob", "ｂｏｂ", "bob [d19019]"] {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox);
        lead.before("u1", "SendMessage", &json!({"to": to, "message": "Go on"}), json!({}));
        let entries = sandbox.replay("latest");
        assert_eq!(only(&entries, "message")["to"], "bob", "{to}");
    }
}

#[test]
fn shutdown_request_shows_the_actual_recipient() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let ask = json!({"to": "BOB", "message": {"type": "shutdown_request", "reason": "done"}});
    lead.tool(
        "u1",
        "SendMessage",
        &ask,
        json!({"success": true, "request_id": "shutdown-1@bob", "target": "bob"}),
    );
    assert_eq!(only(&sandbox.replay("latest"), "shutdown-requested")["to"], "bob");
}

#[test]
fn message_of_a_plain_subagent_is_shown_once_under_its_role() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let scout = json!({"agent_id": "a77", "agent_type": "Explore"});
    lead.hook("SubagentStart", scout.clone());
    let input = json!({"to": "bob", "summary": "found", "message": "Three files"});
    lead.before("u1", "SendMessage", &input, scout.clone());
    // It has no name in the team: others know it by its id.
    lead.inbox("bob", json!([mail("a77", "Three files", &sandbox.last(), "m1")]));
    let routing = json!({"sender": "a77", "target": "@bob"});
    lead.after(
        "u1",
        "SendMessage",
        &input,
        json!({"success": true, "msg_id": "m2", "routing": routing}),
        scout,
    );
    heard(&lead, "a77", "Three files");
    let entries = sandbox.replay("latest");
    let messages: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "message").collect();
    assert!(
        messages.iter().all(|message| message["actor"] == "Explore" && message["to"] == "bob"),
        "{messages:?}"
    );
    assert_eq!(messages.len(), 2, "their ids differ: two messages of the same text");
}

#[test]
fn plan_and_its_response_are_each_described_once() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let plan = json!({"type": "plan_approval_request", "from": "bob", "timestamp": sandbox.last(),
        "planFilePath": "/tmp/plan.md", "planContent": "# Plan\n1. read", "requestId": "plan_approval-1@bob"});
    let asked = json!([{"from": "bob", "text": plan.to_string(), "timestamp": sandbox.last()}]);
    lead.inbox("team-lead", asked);
    lead.hook("Stop", json!({}));
    for (id, approve, feedback) in [("u1", false, "Say how"), ("u2", true, "")] {
        let mut answer = json!({"type": "plan_approval_response", "request_id": "plan_approval-1@bob", "approve": approve});
        if !feedback.is_empty() {
            answer["feedback"] = json!(feedback);
        }
        let input = json!({"to": "bob", "message": answer});
        lead.before(id, "SendMessage", &input, json!({}));
        let frame = json!({"type": "plan_approval_response", "requestId": "plan_approval-1@bob",
            "approved": approve, "feedback": feedback, "timestamp": sandbox.last()});
        lead.inbox(
            "bob",
            json!([{"from": "team-lead", "text": frame.to_string(), "timestamp": sandbox.last()}]),
        );
        lead.after(id, "SendMessage", &input, json!({"success": true}), json!({}));
    }
    let entries = sandbox.replay("latest");
    let told: Vec<Value> = (entries.iter().filter(|entry| entry["kind"] == "message"))
        .map(|entry| {
            json!([
                entry["actor"],
                entry["to"],
                entry["message"],
                entry["text"],
                entry.get("approve"),
                entry["sources"]
            ])
        })
        .collect();
    let sources = json!(["hook", "inbox"]);
    assert_eq!(
        told,
        [
            json!(["bob", "team-lead", "plan_approval_request", "# Plan\n1. read", null, ["inbox"]]),
            json!(["team-lead", "bob", "plan_approval_response", "Say how", false, sources]),
            json!(["team-lead", "bob", "plan_approval_response", "", true, sources]),
        ]
    );
    let told = sandbox.printed(&["log", "--kind", "message"]);
    let told: Vec<&str> =
        told.lines().filter_map(|line| line.split_once("s ")).map(|(_, what)| what).collect();
    assert!(
        told.ends_with(&[
            "bob       asked team-lead to approve a plan: # Plan",
            "team-lead rejected the plan of bob: Say how",
            "team-lead approved the plan of bob",
        ]),
        "{told:?}"
    );
}
