//! The final texts of teammates' turns as reports, in hook calls of several versions of Claude Code.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const PANE: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const BLOCK: &str = "[policy]\nreport-before-idle = { mode = \"block\" }\n";

fn call(lead: &Lead<'_>, event: &str, fields: Value) -> CommandResult {
    lead.sandbox.feed("", lead.payload(event, fields).to_string().as_bytes(), &[])
}

/// A team without tasks whose teammate bob has an instruction. The transcript names this version.
fn team<'a>(sandbox: &'a Sandbox, version: Option<&str>) -> Lead<'a> {
    let lead = Lead::of(sandbox, SESSION);
    let record = json!({"type": "user", "version": version, "message": {"role": "user", "content": "Go."}});
    sandbox.write(&lead.transcript(), format!("{record}\n"));
    lead.roster(1_770_091_200_000, &["bob"]);
    lead.start("startup");
    let input = json!({"to": "bob", "message": "Review the parser."});
    lead.tool("u1", "SendMessage", &input, json!({"success": true}));
    lead
}

/// A turn of bob in the lead's process that ends with this text, and what its idle is answered.
fn turn(lead: &Lead<'_>, answer: &str) -> CommandResult {
    let bob = json!({"agent_id": "abob-0123456789abcdef", "agent_type": "bob"});
    call(lead, "SubagentStart", bob.clone());
    let mut end = bob;
    end["last_assistant_message"] = json!(answer);
    call(lead, "SubagentStop", end);
    call(lead, "TeammateIdle", json!({"teammate_name": "bob"}))
}

/// What the lead reads when it asks bob to shut down.
fn request(lead: &Lead<'_>) -> String {
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    let fields = json!({"tool_name": "SendMessage", "tool_input": input, "tool_use_id": "u9"});
    let result = call(lead, "PreToolUse", fields);
    assert_eq!(result.code, Some(0), "{result:?}");
    let answer: Value = serde_json::from_str(&result.out).unwrap_or_default();
    answer["systemMessage"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_version_of_claude_code_decides_whether_an_answer_is_a_report() {
    for (version, is_report) in [
        (Some("2.1.177"), false),
        (Some("2.1.250"), false),
        (Some("2.1.251"), true),
        (Some("2.1.330"), true),
        (None, true),
    ] {
        let sandbox = Sandbox::judging();
        sandbox.write_config(BLOCK);
        let lead = team(&sandbox, version);
        let idle = turn(&lead, "It is good.");
        assert_eq!(idle.code, Some(if is_report { 0 } else { 2 }), "{version:?}: {}", idle.err);
        let expected = if is_report { "The final answer: \"It is good.\"" } else { "has sent no report" };
        let told = request(&lead);
        assert!(told.contains(expected), "{version:?}: {told}");
    }
}

#[test]
fn a_turn_without_a_final_text_is_no_report_in_any_version() {
    let sandbox = Sandbox::judging();
    sandbox.write_config(BLOCK);
    let lead = team(&sandbox, Some("2.1.330"));
    for blank in ["", " \n"] {
        assert_eq!(turn(&lead, blank).code, Some(2), "{blank:?}");
    }
    assert_eq!(turn(&lead, "It is good.").code, Some(0));
}

#[test]
fn the_answer_of_a_teammate_in_a_pane_is_in_its_stop() {
    for (version, code) in [("2.1.177", 2), ("2.1.330", 0)] {
        let sandbox = Sandbox::judging();
        sandbox.write_config(BLOCK);
        let lead = team(&sandbox, Some(version));
        let pane = Lead::named(&sandbox, PANE, &lead.team);
        let record = json!({"type": "user", "version": version, "agentName": "bob", "teamName": lead.team,
            "message": {"role": "user", "content": "Review the parser."}});
        sandbox.write(&pane.transcript(), format!("{record}\n"));
        let role = json!({"agent_type": "general-purpose"});
        let with = |more: Value| {
            let mut fields = role.clone();
            more.as_object().unwrap().iter().for_each(|(key, value)| fields[key] = value.clone());
            fields
        };
        call(&pane, "UserPromptSubmit", with(json!({"prompt": "Review the parser."})));
        call(&pane, "Stop", with(json!({"last_assistant_message": "It is good."})));
        let idle = call(&pane, "TeammateIdle", with(json!({"teammate_name": "bob", "team_name": lead.team})));
        assert_eq!(idle.code, Some(code), "{version}: {}", idle.err);
    }
}

#[test]
fn policy_test_judges_answers_as_the_hook_did() {
    for (version, is_blocked) in [("2.1.177", true), ("2.1.330", false)] {
        let sandbox = Sandbox::judging();
        let lead = team(&sandbox, Some(version));
        turn(&lead, "It is good.");
        lead.erase();
        lead.end("other");
        sandbox.finish();
        sandbox.write_config(BLOCK);
        let told = sandbox.printed(&["policy", "test", "latest"]);
        assert_eq!(told.contains("report-before-idle"), is_blocked, "{version}: {told}");
    }
}
