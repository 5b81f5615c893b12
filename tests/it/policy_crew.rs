//! A stage for tables of stops: a team in which two members work and the others have nothing in progress, and the calls
//! that stop somebody.

use serde_json::{Value, json};

use super::policy_stage::{SESSION, TEAM};
use super::stage::{Said, Stage, kebab};

/// Stands for half a surrogate pair, which no Rust string can hold: it is sent as `\ud800`.
pub const HALF_PAIR: char = '\u{fffd}';

/// bob works on task 2 and my-agent on task 3; carol has completed task 4, dave has not begun task 5, eve has no task. As
/// 2.1.330 has it, which names agents.
pub fn crew(policy: &str) -> Stage {
    let stage = flat_crew(policy);
    for name in ["bob", "my-agent", "carol", "dave", "eve"] {
        spawned(&stage, name);
    }
    stage
}

/// The same as 2.1.47 has it, which names no agent when a tool is used.
pub fn flat_crew(policy: &str) -> Stage {
    let stage = Stage::judging();
    stage.write_config(policy);
    roster(&stage, &["team-lead", "bob", "my-agent", "carol", "dave", "eve"]);
    task(&stage, 2, "in_progress", "bob");
    task(&stage, 3, "in_progress", "my-agent");
    task(&stage, 4, "completed", "carol");
    task(&stage, 5, "pending", "dave");
    hook(&stage, "UserPromptSubmit", json!({"prompt": "Go on."}));
    // Since a teammate was in a turn, a tool's event that names no agent may be anybody's.
    hook(&stage, "SubagentStart", json!({"agent_id": "a67baf1", "agent_type": "bob"}));
    stage
}

pub fn roster(stage: &Stage, names: &[&str]) {
    let member = |name: &&str| json!({"name": name, "agentId": format!("{name}@{TEAM}")});
    let members: Vec<Value> = names.iter().map(member).collect();
    let config = json!({"name": TEAM, "createdAt": 1, "leadSessionId": SESSION, "members": members});
    stage.write(&format!("teams/{TEAM}/config.json"), config);
}

pub fn task(stage: &Stage, id: u32, status: &str, owner: &str) {
    let mut task =
        json!({"id": id.to_string(), "subject": "Review", "status": status, "blocks": [], "blockedBy": []});
    if !owner.is_empty() {
        task["owner"] = json!(owner);
    }
    stage.write(&format!("tasks/{TEAM}/{id}.json"), task);
}

/// A hook call of the lead's session with these fields.
pub fn hook(stage: &Stage, event: &str, mut payload: Value) -> Said {
    payload["hook_event_name"] = json!(event);
    payload["session_id"] = json!(SESSION);
    payload["cwd"] = json!(stage.home().join("parser"));
    let text = payload.to_string().replace(HALF_PAIR, "\\ud800");
    stage.feed(&kebab(event), text.as_bytes(), &[])
}

/// A tool before it runs: of the lead, or of whom `by` names.
pub fn before(stage: &Stage, tool: &str, input: &Value, by: &Value) -> Said {
    let mut payload = json!({"tool_name": tool, "tool_input": input, "tool_use_id": use_id(stage)});
    merge(&mut payload, by);
    hook(stage, "PreToolUse", payload)
}

/// A tool that has run.
pub fn after(stage: &Stage, tool: &str, input: &Value, response: &Value) {
    let payload = json!({"tool_name": tool, "tool_input": input, "tool_response": response, "tool_use_id": use_id(stage)});
    assert_eq!(hook(stage, "PostToolUse", payload).code, Some(0));
}

/// Who speaks as a teammate in the lead's process (2.1.330).
pub fn mate(name: &str) -> Value {
    json!({"agent_id": agent_id(name), "agent_type": name})
}

pub fn agent_id(name: &str) -> String {
    format!("a{name}-7dfceaaaef47c69e")
}

fn spawned(stage: &Stage, name: &str) {
    let input = json!({"name": name, "description": format!("Job of {name}"), "prompt": "Go"});
    let response = json!({"status": "teammate_spawned", "name": name, "agent_id": agent_id(name), "teammate_id": format!("{name}@{TEAM}"), "team_name": TEAM});
    after(stage, "Agent", &input, &response);
}

fn use_id(stage: &Stage) -> String {
    format!("toolu_{:022}", stage.millis())
}

fn merge(payload: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        payload[key] = value.clone();
    }
}

/// So many refusals that the loop guard lets nothing pass.
pub const PATIENT: &str = "[policy]\nmax-blocks = 1000\n";

/// A shutdown request as 2.1.330 and 2.1.177 show it.
pub fn request(to: &str) -> (&'static str, Value) {
    let message = json!({"type": "shutdown_request", "reason": "done"});
    (
        "SendMessage",
        json!({"to": to, "message": message, "type": "shutdown_request", "recipient": to, "content": "done"}),
    )
}

/// A shutdown request as 2.1.47 shows it.
pub fn flat_request(to: &str) -> (&'static str, Value) {
    ("SendMessage", json!({"type": "shutdown_request", "recipient": to, "content": "done"}))
}

pub fn stop(word: &str) -> (&'static str, Value) {
    ("TaskStop", json!({"task_id": word}))
}

pub fn is_refused(said: &Said, who: &str, what: &str) {
    assert_eq!(said.code, Some(2), "{what}: {said:?}");
    assert!(said.err.contains(who) && said.err.contains("still owns task"), "{what}: {said:?}");
}

pub fn are_refused(stage: &Stage, who: &str, calls: impl IntoIterator<Item = (&'static str, Value)>) {
    for (tool, input) in calls {
        is_refused(&before(stage, tool, &input, &json!({})), who, &format!("{tool} {input}"));
    }
}
