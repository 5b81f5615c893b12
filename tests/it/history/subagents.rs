//! Plain subagents that teammates launch.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A message of alice's subagent, whose sender the client calls so, and its copy in the lead's inbox.
fn told(sender: &str) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "parser-team");
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let helper = json!({"agent_id": "a5987ccde93909e4a", "agent_type": "general-purpose"});
    lead.hook("SubagentStart", helper.clone());
    let input = json!({"to": "team-lead", "summary": "measured", "message": "The helper has measured it"});
    lead.before("t1", "SendMessage", &input, helper.clone());
    lead.inbox(
        "team-lead",
        json!([{"from": sender, "text": "The helper has measured it", "summary": "measured", "timestamp": sandbox.last(), "read": false}]),
    );
    let routing = json!({"sender": sender, "target": "@team-lead", "summary": "measured"});
    lead.after("t1", "SendMessage", &input, json!({"success": true, "routing": routing}), helper.clone());
    lead.hook("SubagentStop", helper);
    let line = sandbox.told(&["replay", "latest", "--kind", "message"]);
    let name = if sender == "alice" { " as alice" } else { "" };
    assert!(line.contains(&format!("general-purpose messaged team-lead{name}: measured\n")), "{line}");
    let messages = sandbox.replay("latest").into_iter().filter(|entry| entry["kind"] == "message");
    messages.map(|entry| json!([entry["actor"], entry["signed_as"], entry["sources"]])).collect()
}

#[test]
fn subagent_message_signed_as_its_teammate_is_attributed_to_the_subagent_and_shown_once() {
    assert_eq!(told("alice"), [json!(["general-purpose", "alice", ["hook", "inbox"]])]);
}

#[test]
fn message_sent_in_the_name_of_a_subagent_is_attributed_to_it() {
    assert_eq!(told("a5987ccde93909e4a"), [json!(["general-purpose", null, ["hook", "inbox"]])]);
}
