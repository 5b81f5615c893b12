//! A stage for the gates: a team with a task that is not done, what calls it, and what the log says of the answers.

use serde_json::{Value, json};

use crate::support::sandbox::{CommandResult, Sandbox};

/// The lead's session.
pub const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
/// The team.
pub const TEAM: &str = "parser-team";

/// A stage with a policy, a team and a task that bob has begun.
pub fn busy(policy: &str) -> Sandbox {
    let sandbox = Sandbox::judging();
    sandbox.write_config(policy);
    let config = json!({"name": TEAM, "createdAt": 1, "leadSessionId": SESSION, "members": [{"name": "team-lead"}, {"name": "bob"}]});
    sandbox.write(&format!("teams/{TEAM}/config.json"), config);
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "bob", "blocks": [], "blockedBy": []});
    sandbox.write(&format!("tasks/{TEAM}/2.json"), task);
    sandbox
}

pub fn told(sandbox: &Sandbox, mut payload: Value) -> CommandResult {
    payload["session_id"] = json!(SESSION);
    payload["cwd"] = json!(sandbox.home().join("parser"));
    sandbox.feed("", payload.to_string().as_bytes(), &[])
}

/// Asks for bob's shutdown, with something else before it in the tool's input.
pub fn shutdown(before: &str) -> String {
    let asks = r#""to":"bob","recipient":"bob","message":{"type":"shutdown_request"}"#;
    format!(
        r#"{{"session_id":"{SESSION}","hook_event_name":"PreToolUse","tool_name":"SendMessage","tool_input":{{{before}{asks}}}}}"#
    )
}

/// The verdicts on record: code and decision.
pub fn verdicts(sandbox: &Sandbox) -> Vec<(String, String)> {
    sandbox.write_config("");
    let log = sandbox.log();
    let verdicts = log.iter().filter(|line| line["event"] == "Verdict").map(|line| &line["verdict"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    verdicts.map(|verdict| (text(&verdict["code"]), text(&verdict["decision"]))).collect()
}

pub fn pairs(verdicts: &[(String, String)]) -> Vec<(&str, &str)> {
    verdicts.iter().map(|(code, decision)| (&**code, &**decision)).collect()
}

/// Carol comes into bob's team, and has a task in progress as well.
pub fn with_carol(sandbox: &Sandbox) {
    let names = ["team-lead", "bob", "carol"].map(|name| json!({"name": name}));
    let config = json!({"name": TEAM, "createdAt": 1, "leadSessionId": SESSION, "members": names});
    sandbox.write(&format!("teams/{TEAM}/config.json"), config);
    let task = json!({"id": "3", "subject": "Test", "status": "in_progress", "owner": "carol", "blocks": [], "blockedBy": []});
    sandbox.write(&format!("tasks/{TEAM}/3.json"), task);
}
