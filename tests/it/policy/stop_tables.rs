//! A stage for tables of stops: a team in which two members work and the others have nothing in progress, and the calls
//! that stop somebody.

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, TEAM};
use crate::support::sandbox::{CommandResult, Sandbox, kebab};

/// Represents half a surrogate pair, which no Rust string can hold: it is sent as `\ud800`.
pub const HALF_PAIR: char = '\u{fffd}';

/// bob works on task 2 and my-agent on task 3; carol has completed task 4, dave has not begun task 5, eve has no task. As
/// 2.1.330 has it, which names agents.
pub fn crew(policy: &str) -> Sandbox {
    let sandbox = flat_crew(policy);
    for name in ["bob", "my-agent", "carol", "dave", "eve"] {
        spawned(&sandbox, name);
    }
    sandbox
}

/// The same as 2.1.47 has it, which names no agent when a tool is used.
pub fn flat_crew(policy: &str) -> Sandbox {
    let sandbox = Sandbox::judging();
    sandbox.write_config(policy);
    roster(&sandbox, &["team-lead", "bob", "my-agent", "carol", "dave", "eve"]);
    task(&sandbox, 2, "in_progress", "bob");
    task(&sandbox, 3, "in_progress", "my-agent");
    task(&sandbox, 4, "completed", "carol");
    task(&sandbox, 5, "pending", "dave");
    hook(&sandbox, "UserPromptSubmit", json!({"prompt": "Go on."}));
    // Since a teammate was in a turn, a tool's event that names no agent may be anybody's.
    hook(&sandbox, "SubagentStart", json!({"agent_id": "a67baf1", "agent_type": "bob"}));
    sandbox
}

pub fn roster(sandbox: &Sandbox, names: &[&str]) {
    let member = |name: &&str| json!({"name": name, "agentId": format!("{name}@{TEAM}")});
    let members: Vec<Value> = names.iter().map(member).collect();
    let config = json!({"name": TEAM, "createdAt": 1, "leadSessionId": SESSION, "members": members});
    sandbox.write(&format!("teams/{TEAM}/config.json"), config);
}

pub fn task(sandbox: &Sandbox, id: u32, status: &str, owner: &str) {
    let mut task =
        json!({"id": id.to_string(), "subject": "Review", "status": status, "blocks": [], "blockedBy": []});
    if !owner.is_empty() {
        task["owner"] = json!(owner);
    }
    sandbox.write(&format!("tasks/{TEAM}/{id}.json"), task);
}

/// A hook call of the lead's session with these fields.
pub fn hook(sandbox: &Sandbox, event: &str, mut payload: Value) -> CommandResult {
    payload["hook_event_name"] = json!(event);
    payload["session_id"] = json!(SESSION);
    payload["cwd"] = json!(sandbox.home().join("parser"));
    let text = payload.to_string().replace(HALF_PAIR, "\\ud800");
    sandbox.feed(&kebab(event), text.as_bytes(), &[])
}

/// A tool before it runs: of the lead, or of whom `by` names.
pub fn before(sandbox: &Sandbox, tool: &str, input: &Value, by: &Value) -> CommandResult {
    let mut payload = json!({"tool_name": tool, "tool_input": input, "tool_use_id": use_id(sandbox)});
    merge(&mut payload, by);
    hook(sandbox, "PreToolUse", payload)
}

/// A tool that has run.
pub fn after(sandbox: &Sandbox, tool: &str, input: &Value, response: &Value) {
    let payload = json!({"tool_name": tool, "tool_input": input, "tool_response": response, "tool_use_id": use_id(sandbox)});
    assert_eq!(hook(sandbox, "PostToolUse", payload).code, Some(0));
}

/// Who speaks as a teammate in the lead's process (2.1.330).
pub fn mate(name: &str) -> Value {
    json!({"agent_id": agent_id(name), "agent_type": name})
}

pub fn agent_id(name: &str) -> String {
    format!("a{name}-7dfceaaaef47c69e")
}

fn spawned(sandbox: &Sandbox, name: &str) {
    let input = json!({"name": name, "description": format!("Job of {name}"), "prompt": "Go"});
    let response = json!({"status": "teammate_spawned", "name": name, "agent_id": agent_id(name), "teammate_id": format!("{name}@{TEAM}"), "team_name": TEAM});
    after(sandbox, "Agent", &input, &response);
}

fn use_id(sandbox: &Sandbox) -> String {
    format!("toolu_{:022}", sandbox.millis())
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

pub fn is_refused(result: &CommandResult, who: &str, what: &str) {
    assert_eq!(result.code, Some(2), "{what}: {result:?}");
    assert!(result.err.contains(who) && result.err.contains("still owns task"), "{what}: {result:?}");
}

pub fn are_refused(sandbox: &Sandbox, who: &str, calls: impl IntoIterator<Item = (&'static str, Value)>) {
    for (tool, input) in calls {
        is_refused(&before(sandbox, tool, &input, &json!({})), who, &format!("{tool} {input}"));
    }
}
