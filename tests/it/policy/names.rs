//! What a gate makes of names and task files as Claude Code leaves them.

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, TEAM, busy, pairs, told, verdicts};
use crate::support::sandbox::{CommandResult, Sandbox};

fn ask(sandbox: &Sandbox, to: &str) -> CommandResult {
    let input = json!({"to": to, "message": {"type": "shutdown_request", "reason": "done"}});
    told(sandbox, json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_input": input}))
}

fn write_task(sandbox: &Sandbox, task: &Value) {
    sandbox.write(&format!("tasks/{TEAM}/2.json"), task.clone());
}

#[test]
fn a_lone_surrogate_in_a_name_does_not_hide_a_member() {
    let sandbox = busy("");
    let payload = format!(
        r#"{{"session_id":"{SESSION}","hook_event_name":"PreToolUse","tool_name":"TaskStop","tool_input":{{"task_id":"b\ud800ob"}}}}"#
    );
    assert_eq!(sandbox.feed("", payload.as_bytes(), &[]).code, Some(2));
    assert_eq!(pairs(&verdicts(&sandbox)), [("stop-of-busy-teammate", "block")]);
}

#[test]
fn a_task_that_is_marked_as_internal_is_its_owner_s_work_and_a_tracker_is_not() {
    let sandbox = busy("");
    let task = |owner: &str| json!({"id": "2", "subject": "bob", "status": "in_progress", "owner": owner, "metadata": {"_internal": true}});
    write_task(&sandbox, &task(""));
    assert_eq!(ask(&sandbox, "bob").code, Some(0), "a tracker of 2.1.47");
    write_task(&sandbox, &task("bob"));
    assert_eq!(ask(&sandbox, "bob").code, Some(2));
    assert_eq!(pairs(&verdicts(&sandbox)), [("shutdown-of-busy-teammate", "block")]);
}

#[test]
fn a_half_written_task_file_counts_as_its_last_complete_version() {
    let sandbox = busy("[policy]\nmax-blocks = 20\n");
    told(&sandbox, json!({"hook_event_name": "UserPromptSubmit", "prompt": "Go on."}));
    let path = sandbox.client(&format!("tasks/{TEAM}/2.json"));
    for half in ["{\"id\": \"2\", \"subj", "", "{"] {
        std::fs::write(&path, half).unwrap();
        assert_eq!(ask(&sandbox, "bob").code, Some(2), "{half}");
        assert_eq!(ask(&sandbox, "b\u{200b}ob").code, Some(2), "{half}");
    }
    write_task(&sandbox, &json!({"id": "2", "subject": "Review", "status": "completed", "owner": "bob"}));
    assert_eq!(ask(&sandbox, "bob").code, Some(0));
    std::fs::write(&path, "{\"id\": \"2\", \"sta").unwrap();
    assert_eq!(ask(&sandbox, "bob").code, Some(0), "it was completed");
}

#[test]
fn a_team_that_could_not_be_read_in_time_is_a_failure_of_the_policy() {
    for (on_error, code, decision) in [("block", 2, "block"), ("allow", 0, "allow")] {
        let sandbox =
            busy(&format!("[archive]\nlongest-look = \"1ms\"\n[policy]\non-error = \"{on_error}\"\n"));
        // Reading all of them takes longer than that, whatever the machine.
        for number in 10..500 {
            let task = json!({"id": number.to_string(), "subject": "x", "status": "pending"});
            sandbox.write(&format!("tasks/{TEAM}/{number}.json"), task);
        }
        write_task(&sandbox, &json!({"id": "2", "subject": "Review", "status": "completed", "owner": "bob"}));
        assert_eq!(ask(&sandbox, "bob").code, Some(code), "{on_error}");
        assert_eq!(pairs(&verdicts(&sandbox)), [("policy-failed", decision)]);
    }
}
