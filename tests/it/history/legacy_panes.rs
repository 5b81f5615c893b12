//! Teammates in panes of a client that tells no roles (2.1.47): a session like any other, but for its pane and transcript.

use serde_json::{Value, json};

use crate::support::sandbox::Sandbox;

const LEAD: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const PANE: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// A team whose alice sits in pane %1, as its lead's session has just been seen.
fn team() -> Sandbox {
    let sandbox = Sandbox::new();
    let cwd = sandbox.home().join("parser");
    let seat = |name: &str, pane: &str| json!({"agentId": format!("{name}@parser-team"), "name": name, "joinedAt": 2, "tmuxPaneId": pane, "cwd": cwd});
    let config = json!({"name": "parser-team", "createdAt": 1_000, "leadSessionId": LEAD,
        "members": [seat("team-lead", ""), seat("alice", "%1")]});
    sandbox.write("teams/parser-team/config.json", config);
    call(&sandbox, LEAD, "SessionStart", "%0", json!({"source": "startup"}));
    sandbox
}

/// A hook call of a session, in a pane.
fn call(sandbox: &Sandbox, session: &str, event: &str, pane: &str, more: Value) {
    let mut payload = json!({"session_id": session, "transcript_path": transcript(sandbox, session),
        "cwd": sandbox.home().join("parser"), "hook_event_name": event});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    sandbox.hook(payload, &[("TMUX_PANE", pane)]);
}

fn transcript(sandbox: &Sandbox, session: &str) -> String {
    sandbox.client(&format!("projects/parser/{session}.jsonl")).display().to_string()
}

/// The transcript's first record names somebody.
fn begin(sandbox: &Sandbox, team: &str, name: &str) {
    let record = json!({"type": "progress", "teamName": team, "agentName": name, "sessionId": PANE, "version": "2.1.47"});
    sandbox.write(&format!("projects/parser/{PANE}.jsonl"), format!("{record}\n"));
}

fn uses_a_tool(sandbox: &Sandbox, pane: &str) {
    let input = json!({"tool_name": "TaskUpdate", "tool_use_id": "toolu_1", "tool_input": {"taskId": "1", "status": "in_progress"}});
    call(sandbox, PANE, "PreToolUse", pane, input);
}

/// The team and the name that the last event was recorded with.
fn speaker(sandbox: &Sandbox) -> (Option<String>, Option<String>) {
    let log = sandbox.log();
    let last = log.last().unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    (text(&last["team"]), text(&last["actor"]["name"]))
}

fn alice() -> (Option<String>, Option<String>) {
    (Some("parser-team".to_owned()), Some("alice".to_owned()))
}

fn nobody() -> (Option<String>, Option<String>) {
    (None, Some("lead".to_owned()))
}

#[test]
fn pane_session_is_attributed_to_a_member_when_its_transcript_names_it() {
    let sandbox = team();
    call(&sandbox, PANE, "SessionStart", "%1", json!({"source": "startup"}));
    assert_eq!(speaker(&sandbox), nobody(), "there is no transcript yet");
    begin(&sandbox, "parser-team", "alice");
    uses_a_tool(&sandbox, "%1");
    assert_eq!(speaker(&sandbox), alice());
    call(&sandbox, PANE, "Stop", "%1", json!({}));
    assert_eq!(speaker(&sandbox), alice(), "and it stays so");
}

#[test]
fn pane_session_is_attributed_to_the_member_that_its_payload_names() {
    let sandbox = team();
    call(&sandbox, PANE, "TeammateIdle", "%1", json!({"team_name": "parser-team", "teammate_name": "alice"}));
    call(&sandbox, PANE, "Stop", "%1", json!({}));
    assert_eq!(speaker(&sandbox), alice());
}

#[test]
fn session_in_another_pane_of_the_same_name_is_not_attributed_to_a_member() {
    let sandbox = team();
    call(&sandbox, PANE, "SessionStart", "%1", json!({"source": "startup"}));
    sandbox.write(&format!("projects/parser/{PANE}.jsonl"), "{\"type\":\"user\",\"version\":\"2.1.47\"}\n");
    uses_a_tool(&sandbox, "%1");
    assert_eq!(speaker(&sandbox), nobody(), "its transcript names nobody");
    begin(&sandbox, "other-team", "alice");
    uses_a_tool(&sandbox, "%1");
    assert_eq!(speaker(&sandbox), nobody(), "its transcript names another team");
    begin(&sandbox, "parser-team", "alice");
    uses_a_tool(&sandbox, "%2");
    assert_eq!(speaker(&sandbox), nobody(), "its pane is no member's");
}
