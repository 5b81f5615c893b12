//! Whose messages a limit counts, at the hook: by task, by agent and by run.

use std::fs;

use chrono::TimeDelta;
use serde_json::{Value, json};
use teamkeep_model::time::Timestamp;
use teamkeep_model::time::{self};

use super::gate_sandbox::{SESSION, TEAM, busy};
use crate::report::contents::thinks;
use crate::support::sandbox::{CommandResult, Sandbox, feed};

fn limit(per: &str) -> String {
    format!("[[policy.budget.limit]]\nper = \"{per}\"\ntokens = 1000\nblock-at = \"100%\"\n")
}

/// A hook call of bob's agent with this id, or of the lead without one.
fn calls(sandbox: &Sandbox, agent: Option<&str>, mut call: Value) -> CommandResult {
    let id = json!(format!("toolu_{}", sandbox.millis()));
    let path = sandbox.client(&format!("projects/-home-dev-parser/{SESSION}.jsonl"));
    for (key, value) in [
        ("session_id", json!(SESSION)),
        ("cwd", json!(sandbox.home())),
        ("transcript_path", json!(path)),
        ("tool_use_id", id),
    ] {
        call[key] = value;
    }
    if let Some(agent) = agent {
        (call["agent_id"], call["agent_type"]) = (json!(agent), json!("bob"));
    }
    sandbox.feed("", call.to_string().as_bytes(), &[])
}

fn creates(sandbox: &Sandbox, agent: Option<&str>) -> CommandResult {
    let input = json!({"subject": "More"});
    calls(
        sandbox,
        agent,
        json!({"hook_event_name": "PreToolUse", "tool_name": "TaskCreate", "tool_input": input}),
    )
}

/// Bob changes the status of task 2.
fn updates(sandbox: &Sandbox, status: &str) {
    let input = json!({"taskId": "2", "status": status});
    let before = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_input": input});
    assert_eq!(calls(sandbox, Some("abob-1"), before.clone()).code, Some(0));
    let task = json!({"id": "2", "subject": "Review", "status": status, "owner": "bob", "blocks": [], "blockedBy": []});
    sandbox.write(&format!("tasks/{TEAM}/2.json"), task);
    let mut after = before;
    (after["hook_event_name"], after["tool_response"]) = (json!("PostToolUse"), json!({"success": true}));
    calls(sandbox, Some("abob-1"), after);
}

/// Half a second after the last call.
fn now(sandbox: &Sandbox) -> Timestamp {
    time::parse(&sandbox.last()).unwrap() + TimeDelta::milliseconds(500)
}

/// A message of the model now, in the transcript of this agent or of the session.
fn spends(sandbox: &Sandbox, transcript: &str, id: &str, tokens: u64) {
    let path = match transcript {
        "" => format!("projects/-home-dev-parser/{SESSION}.jsonl"),
        agent => format!("projects/-home-dev-parser/{SESSION}/subagents/agent-{agent}.jsonl"),
    };
    let mut line = thinks(id, "claude-opus-5", tokens, 0);
    line["timestamp"] = json!(now(sandbox));
    let before = fs::read_to_string(sandbox.client(&path)).unwrap_or_default();
    sandbox.write(&path, format!("{before}{line}\n"));
}

#[test]
fn a_limit_per_task_counts_its_owner_while_the_task_is_in_progress() {
    let sandbox = busy(&limit("task"));
    let task = json!({"id": "2", "subject": "Review", "status": "pending", "owner": "bob", "blocks": [], "blockedBy": []});
    sandbox.write(&format!("tasks/{TEAM}/2.json"), task);
    spends(&sandbox, "", "m1", 5_000);
    spends(&sandbox, "abob-1", "m2", 5_000);
    updates(&sandbox, "in_progress");
    spends(&sandbox, "abob-1", "m3", 700);
    spends(&sandbox, "", "m4", 5_000);
    assert_eq!(creates(&sandbox, Some("abob-1")).code, Some(0));
    spends(&sandbox, "abob-1", "m5", 300);
    let blocked = creates(&sandbox, Some("abob-1"));
    let reason =
        "Blocked: creating a task beyond the budget: task 2 spent 1,000 of 1,000 tokens (100%): bob 1,000.";
    assert!(blocked.code == Some(2) && blocked.err.starts_with(reason), "{}", blocked.err);
    let lead = creates(&sandbox, None);
    assert!(
        lead.code == Some(0) && lead.out.contains("Warning: task 2 spent 1,000 of 1,000"),
        "{}",
        lead.out
    );
    updates(&sandbox, "completed");
    spends(&sandbox, "abob-1", "m6", 5_000);
    assert_eq!(creates(&sandbox, Some("abob-1")).code, Some(0), "the task is done");
    let last = sandbox.log().into_iter().rfind(|line| line["event"] == "PreToolUse").unwrap();
    let explained = sandbox.printed(&["policy", "explain", "--event", last["id"].as_str().unwrap()]);
    assert!(explained.contains("task 2: 1,000 of 1,000 tokens (100%)"), "{explained}");
    let tested = sandbox.printed(&["policy", "test", "latest"]);
    assert!(tested.contains("1 blocked"), "{tested}");
}

#[test]
fn a_transcript_without_a_name_belongs_to_the_agent_that_hooks_named() {
    let sandbox = busy(&limit("run"));
    // 2.1.47 starts a transcript for each turn.
    for (agent, id) in [("a1", "m1"), ("a2", "m2")] {
        calls(&sandbox, Some(agent), json!({"hook_event_name": "SubagentStart"}));
        spends(&sandbox, agent, id, 450);
        calls(&sandbox, Some(agent), json!({"hook_event_name": "SubagentStop"}));
    }
    spends(&sandbox, "a3", "m3", 60);
    let warned = creates(&sandbox, None).out;
    assert!(warned.contains("960 of 1,000 tokens (96%): bob 900, unknown 60."), "{warned}");
}

#[test]
fn a_run_does_not_count_the_messages_of_the_run_that_resumes_it() {
    let sandbox = busy(&limit("run"));
    spends(&sandbox, "", "m1", 700);
    assert_eq!(creates(&sandbox, None).out, "");
    let end = |reason: &str| json!({"hook_event_name": "SessionEnd", "reason": reason});
    fs::remove_dir_all(sandbox.client(&format!("teams/{TEAM}"))).unwrap();
    calls(&sandbox, None, end("other"));
    sandbox.set_clock(sandbox.millis() + 60_000);
    let created = now(&sandbox).millis();
    let config = json!({"name": TEAM, "createdAt": created, "leadSessionId": SESSION, "members": [{"name": "team-lead"}, {"name": "bob"}]});
    sandbox.write(&format!("teams/{TEAM}/config.json"), config);
    calls(&sandbox, None, json!({"hook_event_name": "SessionStart", "source": "resume"}));
    spends(&sandbox, "", "m2", 800);
    let warned = creates(&sandbox, None).out;
    assert!(warned.contains("the team spent 800 of 1,000 tokens"), "{warned}");
    let mut spent: Vec<String> =
        sandbox.teams().iter().map(|run| summary(&sandbox, run["run"].as_str().unwrap())).collect();
    spent.sort();
    assert_eq!(spent, ["run: 700 of 1,000 tokens (70%)", "run: 800 of 1,000 tokens (80%)"]);
}

/// What a run spent, as `policy explain` prints it.
fn summary(sandbox: &Sandbox, run: &str) -> String {
    let call = json!({"hook_event_name": "Stop", "session_id": SESSION}).to_string();
    let shown = feed(&mut sandbox.command(&["policy", "explain", "--run", run]), call.as_bytes());
    let line = shown.out.lines().find_map(|line| line.strip_prefix("spent")).unwrap_or_default();
    line.trim().to_owned()
}

#[test]
fn the_tokens_of_a_subagent_with_a_teammates_name_are_not_the_teammates() {
    let sandbox = busy(&limit("agent"));
    let (bob, other) = ("abob-7dfceaaaef47c69e", "a5987ccde93909e4a");
    for (agent, id, tokens) in [(bob, "m1", 500), (other, "m2", 700)] {
        let note = json!({"agentType": "bob"});
        let path = format!("projects/-home-dev-parser/{SESSION}/subagents/agent-{agent}.meta.json");
        sandbox.write(&path, note);
        calls(&sandbox, Some(agent), json!({"hook_event_name": "SubagentStart"}));
        spends(&sandbox, agent, id, tokens);
        calls(&sandbox, Some(agent), json!({"hook_event_name": "SubagentStop"}));
    }
    assert_eq!(creates(&sandbox, Some(bob)).code, Some(0), "bob spent 500");
    spends(&sandbox, bob, "m3", 500);
    let blocked = creates(&sandbox, Some(bob));
    assert!(blocked.code == Some(2) && blocked.err.contains("bob spent 1,000 of"), "{}", blocked.err);
}
