//! A verdict is one line for people, and in full for a model.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn shutdown(lead: &Lead, id: &str) {
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    let call = json!({"tool_use_id": id, "tool_name": "SendMessage", "tool_input": input});
    let payload = lead.payload("PreToolUse", call).to_string();
    lead.sandbox.feed("pre-tool-use", payload.as_bytes(), &[]);
}

/// A team whose lead asks bob, who works on task 2, to shut down.
fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(1_770_091_200_000, &["bob"]);
    lead.start("startup");
    lead.task("2", "in_progress", Some("bob"));
    lead
}

fn lines(sandbox: &Sandbox, args: &[&str]) -> String {
    let shown = sandbox.printed(&[&["log", "--kind", "verdict"], args].concat());
    let lines = shown.lines().skip(3).map(|line| line.split_once("s ").unwrap_or_default().1);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_block_is_one_line_and_its_reason_is_shown_in_full_on_demand() {
    let sandbox = Sandbox::judging();
    let lead = team(&sandbox);
    shutdown(&lead, "u1");
    insta::assert_snapshot!(lines(&sandbox, &[]), @r#"team-lead was blocked: a shutdown request to bob, who still owns task 2 "Task 2" (in_progress, owner bob) (premature-shutdown)"#);
    let full = sandbox.printed(&["log", "--full"]);
    assert!(full.contains("Wait until it is completed") && full.contains("task 2 \"Task 2\""), "{full}");
    let json: Value = sandbox.replay("latest").into_iter().find(|one| one["kind"] == "verdict").unwrap();
    assert!(json["text"].as_str().unwrap().contains("Then try again.") && json.get("ignored").is_none());
}

#[test]
fn an_allowed_action_gives_no_advice() {
    let sandbox = Sandbox::judging();
    let lead = team(&sandbox);
    for number in 1..=4 {
        sandbox.think();
        shutdown(&lead, &format!("u{number}"));
    }
    let shown = lines(&sandbox, &[]);
    insta::assert_snapshot!(shown.lines().last().unwrap_or_default(), @r#"team-lead was allowed after 3 blocks: a shutdown request to bob, who still owns task 2 "Task 2" (in_progress, owner bob) (premature-shutdown)"#);
    for args in [&["log"][..], &["status"], &["report"]] {
        let shown = sandbox.printed(args);
        assert!(!shown.contains("Wait until") && !shown.contains("try again"), "{args:?}: {shown}");
    }
}

#[test]
fn a_block_that_claude_code_did_not_follow_says_so() {
    let sandbox = Sandbox::judging();
    let lead = team(&sandbox);
    shutdown(&lead, "u1");
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    let done = json!({"tool_use_id": "u1", "tool_name": "SendMessage", "tool_input": input, "tool_response": {"success": true}});
    lead.hook("PostToolUse", done);
    shutdown(&lead, "u2");
    insta::assert_snapshot!(lines(&sandbox, &[]), @r#"
    team-lead was blocked: a shutdown request to bob, who still owns task 2 "Task 2" (in_progress, owner bob) (premature-shutdown), but Claude Code continued: teamkeep doctor
    team-lead was blocked: a shutdown request to bob, who still owns task 2 "Task 2" (in_progress, owner bob) (premature-shutdown)
    "#);
    let ignored: Vec<Value> =
        sandbox.replay("latest").into_iter().filter(|one| one["ignored"] == true).collect();
    assert_eq!(ignored.len(), 1, "only the one that was ignored");
}

#[test]
fn consecutive_ends_of_turns_are_one_line_unless_something_is_between_them() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let stop = |text: &str| lead.hook("Stop", json!({"last_assistant_message": text}));
    ["one", "two", "three"].into_iter().for_each(stop);
    lead.task("3", "pending", None);
    ["four", "five"].into_iter().for_each(stop);
    let shown = |args: &[&str]| {
        let shown = sandbox.printed(&[&["log"], args].concat());
        let ends = shown.lines().filter(|line| line.contains("ended"));
        ends.map(|line| line.split_once("s ").unwrap_or_default().1.to_owned()).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(shown(&[]), @"
    team-lead ended 3 turns: three
    team-lead ended 2 turns: five
    ");
    for args in [&["--full"][..], &["--kind", "turn-ended"]] {
        assert_eq!(shown(args).lines().count(), 5, "{args:?}");
    }
}
