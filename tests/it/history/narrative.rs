//! The story as people read it: each thing once, in words, and in full for whoever asks.

use serde_json::{Value, json};

use crate::support::client_files::{Lead, only};
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    lead
}

fn alice() -> Value {
    json!({"agent_id": "aalice-1", "agent_type": "alice"})
}

fn with(mut one: Value, key: &str, value: Value) -> Value {
    one[key] = value;
    one
}

#[test]
fn end_of_turn_and_following_idle_are_one_line() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.hook("SubagentStop", with(alice(), "last_assistant_message", json!("Drafted.")));
    lead.hook("Stop", json!({"last_assistant_message": "The team is working."}));
    lead.hook("TeammateIdle", json!({"teammate_name": "alice"}));
    lead.hook("TeammateIdle", json!({"teammate_name": "alice"}));
    let told = sandbox.printed(&["log"]);
    assert!(told.contains("    1.0s alice     ended the turn, went idle: Drafted.\n"), "{told}");
    assert_eq!(told.matches("went idle").count(), 2, "{told}");
    assert!(told.contains("    4.0s alice     went idle\n"), "one that came by itself: {told}");
    let kinds: Vec<String> =
        sandbox.replay("latest").iter().map(|entry| entry["kind"].as_str().unwrap().to_owned()).collect();
    assert!(kinds.ends_with(&["turn-ended", "turn-ended", "idle", "idle"].map(str::to_owned)), "{kinds:?}");
}

#[test]
fn subagent_start_shows_its_task_description() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.start("startup");
    let scout = json!({"agent_id": "a1", "agent_type": "Explore"});
    let launch = |id: &str, order: &str| {
        let input = json!({"description": order, "subagent_type": "Explore"});
        lead.tool(id, "Agent", &input, json!({"status": "async_launched", "agentId": "a1"}));
    };
    launch("u1", "Look around");
    lead.hook("SubagentStart", scout);
    lead.hook("SubagentStart", json!({"agent_id": "a2", "agent_type": "Plan"}));
    let entries = sandbox.replay("latest");
    let begun: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "turn-started").collect();
    assert_eq!((&begun[0]["summary"], begun[1].get("summary")), (&json!("Look around"), None));
    let told = sandbox.printed(&["log"]);
    assert!(told.contains("Explore started a turn: Look around\n"), "{told}");
    assert!(told.contains("Plan    started a turn\n"), "{told}");
}

#[test]
fn full_text_of_messages_and_turns_is_shown_on_request() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let input = json!({"to": "bob", "summary": "ready", "message": "# Parser\n\n\u{1b}[31mred\nis done"});
    lead.tool("u1", "SendMessage", &input, json!({"success": true}));
    lead.hook("UserPromptSubmit", json!({"prompt": "one\ntwo"}));
    lead.hook("Stop", json!({"last_assistant_message": "It is\nworking."}));
    let told = sandbox.printed(&["log", "--full"]);
    let (_, told) = told.split_once("    1.0s ").unwrap();
    insta::assert_snapshot!(told, @r"
    team-lead messaged bob: ready
              # Parser

              \u{1b}[31mred
              is done
        3.0s team-lead started a turn
              one
              two
        4.0s team-lead ended the turn
              It is
              working.
    ");
}

/// Mail that the client wrote by itself.
fn notices(sandbox: &Sandbox) -> Lead<'_> {
    let lead = team(sandbox);
    let mail = |from: &str, notice: Value| json!({"from": from, "text": notice.to_string(), "timestamp": sandbox.last(), "read": false});
    let idle = json!({"type": "idle_notification", "from": "alice", "idleReason": "available"});
    let gone = json!({"type": "teammate_terminated", "message": "bob has shut down."});
    lead.inbox("team-lead", json!([mail("alice", idle), mail("system", gone)]));
    let task = json!({"type": "task_assignment", "taskId": "1", "subject": "Draft"});
    lead.inbox("alice", json!([mail("team-lead", task)]));
    lead.hook("Stop", json!({}));
    lead
}

#[test]
fn client_notices_are_described_in_words() {
    let sandbox = Sandbox::new();
    notices(&sandbox);
    let shown = sandbox.printed(&["show", "--full"]);
    let told = sandbox.printed(&["log", "--all"]);
    for words in ["alice is idle", "bob has shut down.", "task 1 assigned to alice: Draft"] {
        assert!(shown.contains(&format!("automatic: {words}\n")), "{shown}");
        assert!(told.contains(&format!("automatic: {words}\n")), "{told}");
    }
    assert!(!sandbox.printed(&["log"]).contains("automatic:"));
}

#[test]
fn automatic_messages_are_attributed_to_the_client() {
    let sandbox = Sandbox::new();
    notices(&sandbox);
    let entries = sandbox.replay("latest");
    let gone = entries.iter().find(|entry| entry["message"] == "teammate_terminated").unwrap();
    assert_eq!((&gone["actor"], &gone["automatic"]), (&json!("client"), &json!(true)));
}

#[test]
fn departed_agents_and_removed_items_are_shown_as_gone() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.task("1", "completed", Some("alice"));
    lead.task("2", "pending", None);
    lead.task("3", "pending", None);
    lead.hook("Stop", json!({}));
    let input = json!({"taskId": "2", "status": "deleted"});
    lead.before("u1", "TaskUpdate", &input, alice());
    std::fs::remove_file(sandbox.client("tasks/session-aaaaaaaa/2.json")).unwrap();
    lead.after("u1", "TaskUpdate", &input, json!({"success": true}), alice());
    std::fs::remove_file(sandbox.client("tasks/session-aaaaaaaa/1.json")).unwrap();
    lead.roster(1_000, &["alice"]);
    lead.hook("Stop", json!({}));

    let shown = sandbox.show(&[]);
    let gone = json!({"members": {"bob": "2026-02-03T04:05:10.000Z"},
        "tasks": {"1": "2026-02-03T04:05:10.000Z", "2": "2026-02-03T04:05:09.000Z"}});
    assert_eq!(shown["gone"], gone);
    let told = sandbox.printed(&["show"]);
    let line = |begin: &str| told.lines().find(|line| line.trim_start().starts_with(begin)).unwrap();
    assert!(line("bob").ends_with(" left +4.0s"), "{told}");
    assert!(line("1 ").ends_with(" erased by Claude Code +4.0s"), "{told}");
    assert!(line("2 ").ends_with(" deleted by alice +3.0s"), "{told}");
    assert!(line("3 ").ends_with("Task 3"), "{told}");
    assert!(told.contains("from snapshots, may be incomplete; `log` has every message"), "{told}");

    let then = sandbox.show(&["--at", "+1s"]);
    assert_eq!((&then["gone"]["tasks"], then["tasks"].as_object().unwrap().len()), (&json!({}), 3));
    lead.roster(1_000, &["alice", "bob"]);
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.show(&[])["gone"]["members"], json!({}), "bob is back");
}

#[test]
fn erased_team_is_shown_with_the_reason_in_brackets() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.erase();
    lead.end("other");
    let told = sandbox.printed(&["log"]);
    assert!(told.ends_with("Claude Code erased the team's directory (session-end)\n"), "{told}");
    assert_eq!(only(&sandbox.replay("latest"), "team-erased")["summary"], "session-end");
    sandbox.finish();
}

#[test]
fn renamed_task_shows_the_rename_and_its_actor() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.task("1", "pending", None);
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let inputs = [
        json!({"taskId": "1", "subject": "Lexer"}),
        json!({"taskId": "1", "description": "in words"}),
        json!({"taskId": "1", "subject": "Parser", "owner": "bob"}),
    ];
    // The first two at once: each sees what both brought.
    lead.before("u1", "TaskUpdate", &inputs[0], json!({}));
    lead.before("u2", "TaskUpdate", &inputs[1], json!({}));
    sandbox.write(
        &format!("tasks/{}/1.json", lead.team),
        json!({"id": "1", "subject": "Lexer", "description": "in words", "status": "pending"}),
    );
    lead.after("u2", "TaskUpdate", &inputs[1], json!({"success": true}), json!({}));
    lead.after("u1", "TaskUpdate", &inputs[0], json!({"success": true}), json!({}));
    lead.before("u3", "TaskUpdate", &inputs[2], json!({}));
    sandbox.write(
        &format!("tasks/{}/1.json", lead.team),
        json!({"id": "1", "subject": "Parser", "status": "pending", "owner": "bob"}),
    );
    lead.after("u3", "TaskUpdate", &inputs[2], json!({"success": true}), json!({}));
    let told = sandbox.printed(&["log", "--kind", "task-changed"]);
    let told: Vec<&str> =
        told.lines().filter_map(|line| line.split_once("team-lead ")).map(|(_, what)| what).collect();
    assert_eq!(told, ["renamed task 1: Lexer", "assigned task 1 to bob: Parser"]);
}
