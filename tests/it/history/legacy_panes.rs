//! Teammates in panes of a client that tells no roles (2.1.47): a session like any other, but for its pane and transcript.

use serde_json::{Value, json};

use crate::support::programs::waiting_process;
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
    sandbox.hook(payload(sandbox, session, event, more), &[("TMUX_PANE", pane)]);
}

fn payload(sandbox: &Sandbox, session: &str, event: &str, more: Value) -> Value {
    let mut payload = json!({"session_id": session, "transcript_path": transcript(sandbox, session),
        "cwd": sandbox.home().join("parser"), "hook_event_name": event});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
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
fn turn_of_a_pane_before_its_first_tool_use_belongs_to_its_member() {
    let sandbox = team();
    call(&sandbox, PANE, "SessionStart", "%1", json!({"source": "startup"}));
    call(&sandbox, PANE, "Stop", "%1", json!({"last_assistant_message": "I am ready."}));
    assert_eq!(speaker(&sandbox), nobody(), "there is no transcript yet");
    begin(&sandbox, "parser-team", "alice");
    uses_a_tool(&sandbox, "%1");
    let said = sandbox.printed(&["log"]);
    let line = said.lines().find(|line| line.contains("I am ready.")).unwrap();
    assert!(line.contains(" alice ") && !said.contains("team-lead ended"), "{said}");
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

/// The kinds of incidents in the report of a run whose pane was killed, if the lead ended a turn after that or not.
fn incidents_after_a_kill(turns: usize) -> Vec<Value> {
    let sandbox = team();
    let mut process = waiting_process().spawn().unwrap();
    let pid = process.id().to_string();
    let more = json!({"team_name": "parser-team", "teammate_name": "alice"});
    sandbox.hook(
        payload(&sandbox, PANE, "TeammateIdle", more),
        &[("TMUX_PANE", "%1"), ("CLAUDE_PID", pid.as_str())],
    );
    call(&sandbox, LEAD, "Stop", "%0", json!({}));
    process.kill().unwrap();
    process.wait().unwrap();
    for _ in 0..turns {
        call(&sandbox, LEAD, "Stop", "%0", json!({}));
    }
    call(&sandbox, LEAD, "SessionEnd", "%0", json!({"reason": "prompt_input_exit"}));
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    report["incidents"].as_array().unwrap().iter().map(|incident| incident["kind"].clone()).collect()
}

#[test]
fn pane_that_was_killed_before_a_turn_of_the_lead_has_crashed_after_the_run_too() {
    assert_eq!(incidents_after_a_kill(1), [json!("crashed-agent")]);
    assert_eq!(incidents_after_a_kill(3), [json!("crashed-agent")]);
}

#[test]
fn pane_whose_process_ends_with_the_run_has_not_crashed() {
    assert_eq!(incidents_after_a_kill(0), Vec::<Value>::new());
}

#[test]
fn subagent_of_a_pane_is_another_agent_than_the_member_whose_name_is_its_role() {
    let sandbox = team();
    call(&sandbox, PANE, "SessionStart", "%1", json!({"source": "startup"}));
    begin(&sandbox, "parser-team", "alice");
    uses_a_tool(&sandbox, "%1");
    let role = json!({"agent_id": "a5987ccde93909e4a", "agent_type": "team-lead"});
    let own = json!({"agent_id": "a0c8d2f1b6e73945a", "agent_type": "alice"});
    for fields in [role, own] {
        call(&sandbox, PANE, "SubagentStart", "%1", fields.clone());
        assert_eq!(sandbox.log().last().unwrap()["actor"]["kind"], "subagent");
        call(&sandbox, PANE, "SubagentStop", "%1", fields);
    }
    let entries = sandbox.replay("latest").into_iter().filter(|entry| entry["kind"] == "turn-ended");
    let actors: Vec<Value> = entries.map(|entry| entry["actor"].clone()).collect();
    assert_eq!(actors, ["team-lead (subagent)", "alice (subagent)"]);
}
