//! Agents that another one ended with TaskStop: who stopped whom, and that they did not just leave.

use serde_json::{Value, json};

use crate::support::client_files::{Lead, count, only};
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-7dfceaaaef47c69e"), "agent_type": name})
}

/// alice and bob at work, each with a task.
fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead { pid: Some(std::process::id()), ..Lead::of(sandbox, SESSION) };
    // Where Claude Code names the agent of a call, a call without one is the lead's.
    let version = json!({"type": "user", "version": "2.1.330", "sessionId": SESSION});
    sandbox.write(&lead.transcript(), format!("{version}\n"));
    lead.start("startup");
    lead.config(1_000, &["alice", "bob"], json!({"leadProcess": {"pid": std::process::id()}}));
    lead.task("1", "in_progress", Some("bob"));
    lead.task("2", "in_progress", Some("alice"));
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    for name in ["alice", "bob"] {
        let input = json!({"name": name, "description": format!("work of {name}"), "prompt": "do it"});
        let spawned = json!({"status": "teammate_spawned", "name": name, "agent_id": by(name)["agent_id"],
            "teammate_id": format!("{name}@{}", lead.team), "team_name": lead.team});
        lead.tool(&format!("toolu_{name}"), "Agent", &input, spawned);
        lead.hook("SubagentStart", by(name));
    }
    lead
}

/// bob is stopped under this id, and leaves the roster.
fn stop(lead: &Lead<'_>, id: &str, by: Value) {
    let input = json!({"task_id": id});
    lead.before("toolu_stop", "TaskStop", &input, by.clone());
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    let response = json!({"message": "Successfully stopped task", "task_id": id});
    lead.after("toolu_stop", "TaskStop", &input, response, by);
    lead.hook("Stop", json!({}));
}

fn stops(sandbox: &Sandbox) -> (Value, Value) {
    let entries = sandbox.replay("latest");
    assert_eq!(count(&entries, "member-left"), 0, "the stop is the end");
    let stop = only(&entries, "agent-stopped");
    (stop["actor"].clone(), stop["stopped"].clone())
}

#[test]
fn a_stop_shows_who_stopped_whom_and_is_the_end_of_the_agent() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    stop(&lead, "bob", json!({}));
    assert_eq!(stops(&sandbox), (json!("team-lead"), json!("bob")));
    let replay = sandbox.printed(&["log", "latest"]);
    assert!(replay.contains("stopped bob") && !replay.contains("left the team"), "{replay}");
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let lost = report["incidents"].as_array().unwrap().iter().find(|one| one["kind"] == "lost-work").unwrap();
    assert!(
        lost["summary"]
            .as_str()
            .unwrap()
            .starts_with("bob was stopped by team-lead with #1 in progress for "),
        "{lost}"
    );
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    let members = status["teams"][0]["members"].as_array().unwrap();
    let bob = members.iter().find(|member| member["name"] == "bob").unwrap();
    assert_eq!(bob["state"], "left");
    let of_bob =
        sandbox.printed(&["log", "latest", "--involving", "bob", "--kind", "agent-stopped", "--json"]);
    assert_eq!(of_bob.lines().count(), 1, "{of_bob}");
}

#[test]
fn a_stop_by_an_agent_id_a_full_name_or_another_spelling_is_of_the_same_agent() {
    for id in ["abob-7dfceaaaef47c69e", "bob@session-aaaaaaaa", "B\u{200b}ob", "@bob"] {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox);
        stop(&lead, id, json!({}));
        assert_eq!(stops(&sandbox), (json!("team-lead"), json!("bob")), "{id}");
    }
}

#[test]
fn a_stop_by_the_id_of_a_background_task_is_of_its_teammate() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let task =
        json!({"id": "t1a2b3c4d", "type": "teammate", "description": "work of bob", "status": "running"});
    lead.hook("Stop", json!({"background_tasks": [task]}));
    stop(&lead, "t1a2b3c4d", json!({}));
    assert_eq!(stops(&sandbox), (json!("team-lead"), json!("bob")));
}

#[test]
fn a_teammate_can_stop_another_one() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    stop(&lead, "bob", by("alice"));
    assert_eq!(stops(&sandbox), (json!("alice"), json!("bob")));
    let brief = sandbox.printed(&["brief", "latest"]);
    assert!(brief.contains("- bob: left") && brief.contains("- alice: "), "{brief}");
}

#[test]
fn a_stop_that_failed_and_a_stop_of_a_shell_end_no_agent() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.before("toolu_1", "TaskStop", &json!({"task_id": "bob"}), json!({}));
    lead.hook(
        "PostToolUseFailure",
        json!({"tool_name": "TaskStop", "tool_input": {"task_id": "bob"}, "tool_use_id": "toolu_1", "error": "no"}),
    );
    lead.tool("toolu_2", "TaskStop", &json!({"task_id": "bob"}), json!({"success": false}));
    lead.tool(
        "toolu_3",
        "TaskStop",
        &json!({"shell_id": "b7f3e1"}),
        json!({"message": "Successfully stopped task"}),
    );
    let entries = sandbox.replay("latest");
    assert_eq!((count(&entries, "agent-stopped"), count(&entries, "member-left")), (0, 0));
    // What leaves the roster later without a stop has left.
    lead.roster(1_000, &["alice"]);
    lead.hook("Stop", json!({}));
    assert_eq!(only(&sandbox.replay("latest"), "member-left")["actor"], "bob");
}

#[test]
fn an_agent_that_was_stopped_and_started_again_is_there() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    stop(&lead, "bob", json!({}));
    lead.roster(1_000, &["alice", "bob"]);
    lead.hook("SubagentStart", by("bob"));
    let brief = sandbox.printed(&["brief", "latest"]);
    assert!(brief.contains("- bob: working"), "{brief}");
    lead.roster(1_000, &["alice"]);
    lead.hook("Stop", json!({}));
    let entries = sandbox.replay("latest");
    assert_eq!((count(&entries, "agent-stopped"), count(&entries, "member-left")), (1, 1));
}
