//! The status of running teams: for people, for programs, and in one line.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, feed, sizeless};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-1"), "agent_type": name})
}

/// A team at work: alice in a turn, bob idle with a message that waits, three tasks.
fn play(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, ONE);
    lead.roster(1_770_091_200_000, &["alice", "bob"]);
    lead.start("startup");
    lead.task("1", "completed", Some("bob"));
    lead.task("2", "in_progress", Some("alice"));
    lead.task("3", "pending", None);
    lead.hook("SubagentStart", by("bob"));
    lead.hook("SubagentStart", by("alice"));
    lead.hook("SubagentStop", by("bob"));
    lead.hook("TeammateIdle", json!({"teammate_name": "bob"}));
    lead.inbox(
        "bob",
        json!([{"from": "alice", "text": "look", "read": false}, {"from": "x", "text": "y", "read": true}]),
    );
    lead.hook("Notification", json!({}));
    lead
}

fn line(sandbox: &Sandbox, stdin: &[u8]) -> CommandResult {
    feed(&mut sandbox.command(&["status", "--line"]), stdin)
}

fn ok(text: &str) -> (Option<i32>, String, String) {
    (Some(0), format!("{text}\n"), String::new())
}

fn all(result: CommandResult) -> (Option<i32>, String, String) {
    (result.code, result.out, result.err)
}

#[test]
fn status_shows_working_and_idle_agents_and_open_tasks() {
    let sandbox = Sandbox::new();
    play(&sandbox);
    insta::assert_snapshot!(sizeless(&sandbox.printed(&["status"])), @"
    session-aaaaaaaa running for 6 s, last event 1 s ago
      Members (1 working, 1 idle, 1 joined)
        alice      working 4 s         task 2 Task 2
        bob        idle    3 s         1 unread
        team-lead  joined  6 s
      Tasks (1 of 3 done)
        2  in_progress alice    Task 2
        3  pending     -        Task 3
    ");
}

#[test]
fn status_lists_every_counted_agent() {
    let sandbox = Sandbox::new();
    let lead = play(&sandbox);
    lead.roster(1_770_091_200_000, &["alice"]);
    lead.hook("Notification", json!({}));
    let told = sandbox.printed(&["status"]);
    assert!(told.contains("Members (1 working, 1 joined, 1 left)\n"), "{told}");
    let listed =
        |state: &str| told.lines().filter(|line| line.split_whitespace().nth(1) == Some(state)).count();
    assert_eq!(["working", "joined", "left"].map(listed), [1, 1, 1], "{told}");
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"][0]["members"][2]["doing"], "gone");
}

#[test]
fn status_json_is_one_object_with_the_same_data() {
    let sandbox = Sandbox::new();
    play(&sandbox);
    sandbox.run(&["pause", "idle-with-work", "1h"]);
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    let team = &status["teams"][0];
    assert_eq!(
        (&status["v"], &team["team"], &team["unread"]),
        (&json!(1), &json!("session-aaaaaaaa"), &json!({"bob": 1}))
    );
    let doing: Vec<(&str, &str)> = team["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| (member["name"].as_str().unwrap(), member["doing"].as_str().unwrap()))
        .collect();
    assert_eq!(doing, [("team-lead", "here"), ("alice", "works"), ("bob", "idle")]);
    assert_eq!(team["members"][1]["tasks"], json!(["2"]));
    let mut task = team["tasks"][2].clone();
    assert_eq!(task.as_object_mut().unwrap().remove("since"), Some(json!("2026-02-03T04:05:07.000Z")));
    assert_eq!(task, json!({"id": "3", "status": "pending", "owner": null, "subject": "Task 3"}));
    assert_eq!(team["incidents"], json!([]));
    assert_eq!(status["overrides"]["pauses"][0]["gate"], "idle-with-work");
    assert_eq!(status["record"]["events"], sandbox.log().len());
    assert_eq!((&status["record"]["runs"], &status["record"]["events_counted"]), (&json!(1), &json!(true)));
}

#[test]
fn status_counts_blocked_and_allowed_calls() {
    let sandbox = Sandbox::new();
    let lead = play(&sandbox);
    sandbox.unconfigure();
    let input = json!({"to": "alice", "message": {"type": "shutdown_request", "reason": "done"}});
    let payload = lead.payload("PreToolUse", json!({"tool_name": "SendMessage", "tool_input": input}));
    let again = |_| {
        sandbox.think();
        sandbox.feed("pre-tool-use", payload.to_string().as_bytes(), &[]).code
    };
    let codes: Vec<_> = (0..4).map(again).collect();
    assert_eq!(codes, [Some(2), Some(2), Some(2), Some(0)]);
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    let team = &status["teams"][0];
    assert_eq!((&team["blocks"], &team["escalations"]), (&json!(3), &json!(1)));
    let told = line(&sandbox, b"");
    assert_eq!(
        all(told),
        ok(
            "session-aaaaaaaa: 1 working, 1 idle, 1 joined · 1 incident · 1/3 tasks · 1 unread · 3 blocks · 1 allowed by the loop guard"
        )
    );
}

#[test]
fn team_is_running_until_its_end_is_recorded_or_its_client_exits() {
    let sandbox = Sandbox::new();
    let lead = play(&sandbox);
    lead.erase();
    lead.end("other");
    sandbox.finish();
    let mut child = teamkeep_system::os::process::shell("exit 0").spawn().unwrap();
    let gone = child.id();
    child.wait().unwrap();
    let killed = Lead::of(&sandbox, TWO);
    killed.config(1_770_091_300_000, &["carol"], json!({"leadProcess": {"pid": gone}}));
    killed.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"], json!([]), "{status:#}");
    assert!(
        sandbox
            .printed(&["status"])
            .starts_with("no running teams; to see the last run: teamkeep log\nRecorded: 2 runs, ")
    );
    assert_eq!(all(line(&sandbox, b"")), ok("teamkeep: no team"));
}

#[test]
fn team_without_sessions_is_not_shown() {
    let sandbox = Sandbox::new();
    play(&sandbox);
    let unused = Lead::of(&sandbox, TWO);
    unused.roster(1_770_091_300_000, &[]);
    sandbox.set_clock(60_000);
    Lead::of(&sandbox, ONE).start("resume");
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"].as_array().unwrap().len(), 1, "{status:#}");
    assert!(line(&sandbox, b"").out.starts_with("session-aaaaaaaa: "));
}

#[test]
fn empty_store_is_not_an_error() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.keep("")).unwrap();
    insta::assert_snapshot!(sandbox.printed(&["status"]), @"
    no running teams
    Recorded: 0 runs, 0 log lines, 0 B
    ");
    assert_eq!(all(line(&sandbox, b"")), ok("teamkeep: no team"));
}

#[test]
fn status_line_shows_the_session_from_the_payload() {
    let sandbox = Sandbox::new();
    play(&sandbox);
    let other = Lead::named(&sandbox, TWO, "parser-team");
    other.roster(1_770_091_300_000, &["carol"]);
    other.tool("u1", "TeamCreate", &json!({"team_name": "parser-team"}), json!({"team_name": "parser-team"}));
    let one = "session-aaaaaaaa: 1 working, 1 idle, 1 joined · 1/3 tasks · 1 unread";
    let word = |session: &str| json!({"session_id": session, "model": {"id": "m"}}).to_string();
    assert_eq!(all(line(&sandbox, word(ONE).as_bytes())), ok(one));
    assert_eq!(all(line(&sandbox, word(TWO).as_bytes())), ok("parser-team: 2 joined"));
    assert_eq!(all(line(&sandbox, word("cccccccc").as_bytes())), ok("teamkeep: no team"));
    for nothing in ["", "{", "[]", "{\"session_id\": null}", "\u{0}"] {
        assert_eq!(all(line(&sandbox, nothing.as_bytes())), ok("parser-team: 2 joined"), "{nothing:?}");
    }
}

#[test]
fn status_line_does_not_wait_for_stdin_and_never_fails() {
    let sandbox = Sandbox::new();
    play(&sandbox);
    let (open, _held) = std::io::pipe().unwrap();
    let mut command = sandbox.command(&["status", "--line"]);
    let result: CommandResult = command.stdin(open).output().unwrap().into();
    assert_eq!(all(result), ok("session-aaaaaaaa: 1 working, 1 idle, 1 joined · 1/3 tasks · 1 unread"));
    sandbox.write_config("[policy]\nmax-blocks = \"nonsense\"");
    assert_eq!(line(&sandbox, b"").code, Some(0));
    let mut command = sandbox.command(&["status", "--line"]);
    command.env("TEAMKEEP_HOME", "relative").stdin(Stdio::null());
    let result: CommandResult = command.output().unwrap().into();
    assert_eq!(all(result), ok("teamkeep: status unknown, run `teamkeep status`"));
    for place in ["runs", "teams"] {
        std::fs::remove_dir_all(sandbox.keep(place)).ok();
        std::fs::write(sandbox.keep(place), "no directory").unwrap();
    }
    sandbox.unconfigure();
    assert_eq!(all(line(&sandbox, b"")), ok("teamkeep: no team"));
}

#[test]
fn agent_text_cannot_control_the_terminal() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_770_091_200_000, &["\u{1b}[2Jbob"]);
    lead.start("startup");
    let task = json!({"id": "1", "subject": "\u{1b}]0;x\u{7}\u{202e}wild", "status": "pending"});
    sandbox.write("tasks/session-aaaaaaaa/1.json", task);
    lead.hook("Notification", json!({}));
    let told = [sandbox.printed(&["status"]), line(&sandbox, b"").out].concat();
    assert!(told.contains("wild") && !told.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{told}");
}
