//! The back-test says what the hook said, and the counts hold over all of a session.

use serde_json::json;

use super::team_sandbox::{TEAM, Team};

fn agree(team: &Team) {
    let (live, tested) = team.both();
    assert!(!live.is_empty());
    assert_eq!(tested, live);
}

/// A team with alice and bob, who have reported.
fn team(config: &str) -> Team {
    let team = Team::new(config);
    team.roster(&["alice", "bob"]);
    ["alice", "bob"].iter().for_each(|name| team.spawn(name));
    team
}

#[test]
fn policy_test_blocks_an_approval_after_a_blocked_request() {
    let team = team("");
    team.task(2, "in_progress", "bob", &[]);
    assert_eq!([team.ask("bob"), team.approve("bob")], [2, 2]);
    agree(&team);
}

#[test]
fn a_rule_that_warns_about_a_request_does_not_allow_the_approval() {
    let team = team("[[rule]]\nname = \"w\"\ntools = [\"SendMessage\"]\naction = \"warn\"\n");
    team.task(1, "completed", "bob", &[]);
    assert_eq!(team.ask("bob"), 0);
    team.task(2, "in_progress", "bob", &[]);
    assert_eq!(team.approve("bob"), 2);
    agree(&team);
}

#[test]
fn only_the_teammate_whose_shutdown_was_allowed_may_approve_a_request_to_everyone() {
    let team = team("");
    team.task(1, "in_progress", "alice", &[]);
    team.sandbox.run(&["allow", "alice"]);
    assert_eq!(team.ask("*"), 0);
    team.task(2, "in_progress", "bob", &[]);
    assert_eq!(team.approve("bob"), 2);
    let (live, tested) = team.both();
    let last = |result: &std::collections::BTreeMap<String, Vec<String>>| result.values().last().cloned();
    assert_eq!(last(&tested), last(&live));
    assert_eq!(last(&live).unwrap(), ["block premature-shutdown  false"]);
}

#[test]
fn an_allowed_request_to_everyone_is_reported_once() {
    let team = team("[policy.premature-shutdown]\nmode = \"off\"\n");
    team.task(1, "in_progress", "alice", &[]);
    team.task(2, "in_progress", "bob", &[]);
    assert_eq!([team.ask("*"), team.approve("alice"), team.approve("bob")], [0; 3]);
    let default = team.sandbox.home().join("default.toml");
    std::fs::write(&default, "").unwrap();
    let result = team.sandbox.printed(&["policy", "test", "latest", "--policy", default.to_str().unwrap()]);
    assert!(result.contains(": 1 blocked"), "{result}");
}

#[test]
fn a_blocked_tool_call_starts_no_turn() {
    let rule = "[[rule]]\nname = \"r\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n";
    let team = team(&format!("[policy.premature-shutdown]\nopen-turn = true\n{rule}"));
    team.event("SubagentStop", Some("bob"), json!({}));
    assert_eq!(team.pre("Bash", Some("bob"), json!({"command": "x"})), 2);
    let request = json!({"session_id": super::team_sandbox::SESSION, "hook_event_name": "PreToolUse", "tool_name": "SendMessage",
        "tool_input": {"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}}});
    let mut explain = team.sandbox.command(&["policy", "explain", "--run", "latest"]);
    let result = crate::support::sandbox::feed(&mut explain, request.to_string().as_bytes());
    assert!(result.out.contains("verdict    allow"), "{}{}", result.out, result.err);
    assert_eq!(team.ask("bob"), 0);
    agree(&team);
}

#[test]
fn a_session_a_session_with_subagents_and_a_team_have_counts_of_their_own() {
    let rule = "[[rule]]\nname = \"r\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n";
    let team = Team::new(rule);
    let tries = || [0; 4].map(|_| team.pre("Bash", None, json!({"command": "x"})));
    assert_eq!(tries(), [2, 2, 2, 0]);
    team.event("SubagentStart", None, json!({"agent_id": "a123", "agent_type": "Explore"}));
    assert_eq!(tries(), [2, 2, 2, 0]);
    team.roster(&["bob"]);
    assert_eq!(tries(), [2, 2, 2, 0]);
    let (live, tested) = team.both();
    let of_team: Vec<_> = live.into_iter().rev().take(4).rev().collect();
    assert_eq!(tested.into_iter().collect::<Vec<_>>(), of_team);
}

#[test]
fn a_team_whose_finished_tasks_were_erased_still_counts_what_it_completes() {
    let team = team("");
    (1..=5).for_each(|id| team.task(id, "completed", "alice", &[]));
    team.task(6, "in_progress", "bob", &[]);
    for waits in ["0", "1", "2", "3"] {
        team.task(7, "pending", "alice", &[waits]);
        let expected = if waits == "0" { [2, 2, 2, 0] } else { [0; 4] };
        assert_eq!([0; 4].map(|_| team.ask("bob")), expected, "{waits}");
    }
    team.sandbox.remove_dir(&format!("tasks/{TEAM}"));
    team.task(11, "completed", "alice", &[]);
    team.task(12, "in_progress", "bob", &[]);
    assert_eq!([0; 4].map(|_| team.ask("bob")), [2, 2, 2, 0]);
    agree(&team);
}
