//! How the teams stand that are alive: for people, for programs, on a whole terminal, and in one line.

use std::process::Stdio;

use anstream::adapter::strip_str;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, feed, sizeless};
use crate::support::terminal::{CLOSE, OPEN, Terminal};

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
    insta::assert_snapshot!(sizeless(&sandbox.told(&["status"])), @"
    session-aaaaaaaa running for 6s, last event 1s ago
      Members (1 working, 1 idle, 1 joined)
        team-lead  joined  6s
        alice      working 4s     task 2 Task 2
        bob        idle    3s     1 unread
      Tasks (1 of 3 done)
        2  in_progress alice    Task 2
        3  pending     -        Task 3
    Recorded: 1 run, 6 events, # KB
    ");
}

#[test]
fn status_lists_every_counted_agent() {
    let sandbox = Sandbox::new();
    let lead = play(&sandbox);
    lead.roster(1_770_091_200_000, &["alice"]);
    lead.hook("Notification", json!({}));
    let told = sandbox.told(&["status"]);
    assert!(told.contains("Members (1 working, 1 joined, 1 left)\n"), "{told}");
    let listed =
        |state: &str| told.lines().filter(|line| line.split_whitespace().nth(1) == Some(state)).count();
    assert_eq!(["working", "joined", "left"].map(listed), [1, 1, 1], "{told}");
    let status: Value = serde_json::from_str(&sandbox.told(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"][0]["members"][2]["doing"], "gone");
}

#[test]
fn status_json_is_one_object_with_the_same_data() {
    let sandbox = Sandbox::new();
    play(&sandbox);
    sandbox.run(&["policy", "pause", "1h", "--gate", "idle-with-work"]);
    let status: Value = serde_json::from_str(&sandbox.told(&["status", "--json"])).unwrap();
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
    assert_eq!(team["tasks"][2], json!({"id": "3", "status": "pending", "owner": null, "subject": "Task 3"}));
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
    let codes: Vec<_> =
        (0..4).map(|_| sandbox.feed("pre-tool-use", payload.to_string().as_bytes(), &[]).code).collect();
    assert_eq!(codes, [Some(2), Some(2), Some(2), Some(0)]);
    let status: Value = serde_json::from_str(&sandbox.told(&["status", "--json"])).unwrap();
    let team = &status["teams"][0];
    assert_eq!((&team["blocks"], &team["escalations"]), (&json!(3), &json!(1)));
    let told = line(&sandbox, b"");
    assert_eq!(
        all(told),
        ok(
            "session-aaaaaaaa: 1 working, 1 idle · 1/3 tasks · 1 unread · 3 blocks · 1 allowed by the loop guard"
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
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let gone = child.id();
    child.wait().unwrap();
    let killed = Lead::of(&sandbox, TWO);
    killed.config(1_770_091_300_000, &["carol"], json!({"leadProcess": {"pid": gone}}));
    killed.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let status: Value = serde_json::from_str(&sandbox.told(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"], json!([]), "{status:#}");
    assert!(
        sandbox
            .told(&["status"])
            .starts_with("No running teams. To see the last run: teamkeep replay\nRecorded: 2 runs, ")
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
    let status: Value = serde_json::from_str(&sandbox.told(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"].as_array().unwrap().len(), 1, "{status:#}");
    assert!(line(&sandbox, b"").out.starts_with("session-aaaaaaaa: "));
}

#[test]
fn empty_store_is_not_an_error() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.told(&["status"]), @"
    No running teams.
    Recorded: 0 runs, 0 events, 0 B
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
    let one = "session-aaaaaaaa: 1 working, 1 idle · 1/3 tasks · 1 unread";
    let word = |session: &str| json!({"session_id": session, "model": {"id": "m"}}).to_string();
    assert_eq!(all(line(&sandbox, word(ONE).as_bytes())), ok(one));
    assert_eq!(all(line(&sandbox, word(TWO).as_bytes())), ok("parser-team: 1 idle"));
    assert_eq!(all(line(&sandbox, word("cccccccc").as_bytes())), ok("teamkeep: no team"));
    for nothing in ["", "{", "[]", "{\"session_id\": null}", "\u{0}"] {
        assert_eq!(all(line(&sandbox, nothing.as_bytes())), ok("parser-team: 1 idle"), "{nothing:?}");
    }
}

#[test]
fn status_line_does_not_wait_for_stdin_and_never_fails() {
    let sandbox = Sandbox::new();
    play(&sandbox);
    let (open, _held) = std::io::pipe().unwrap();
    let mut command = sandbox.command(&["status", "--line"]);
    let result: CommandResult = command.stdin(open).output().unwrap().into();
    assert_eq!(all(result), ok("session-aaaaaaaa: 1 working, 1 idle · 1/3 tasks · 1 unread"));
    sandbox.write_config("[policy]\nmax-blocks = \"nonsense\"");
    assert_eq!(line(&sandbox, b"").code, Some(0));
    let mut command = sandbox.command(&["status", "--line"]);
    command.env("TEAMKEEP_HOME", "relative").stdin(Stdio::null());
    let result: CommandResult = command.output().unwrap().into();
    assert_eq!(all(result), ok("teamkeep: status unknown, run `teamkeep status`"));
    let archive = sandbox.keep("archive");
    for place in ["runs", "open", "closed"] {
        std::fs::remove_dir_all(archive.join(place)).ok();
        std::fs::write(archive.join(place), "no directory").unwrap();
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
    let told = [sandbox.told(&["status"]), line(&sandbox, b"").out].concat();
    assert!(told.contains("wild") && !told.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{told}");
}

/// What stands on a terminal of this size.
fn shown(sandbox: &Sandbox, columns: usize, rows: usize) -> Vec<String> {
    use teamkeep::status::{Status, alive};
    let library = sandbox.library();
    let opened = library.open_stories(&alive(&library)).unwrap();
    let paths = teamkeep_core::sys::paths::Paths {
        store: sandbox.keep(""),
        config: sandbox.keep("teamkeep.toml"),
        client: Some(sandbox.client("")),
        warning: None,
    };
    let now = teamkeep_core::sys::clock::parse("2026-02-03T05:05:10Z").unwrap();
    let status = Status::of(&library, &opened, &paths, Default::default(), now);
    let lines = teamkeep::view::status_screen(&status, now, "q to quit", (columns, rows));
    lines.iter().map(|line| strip_str(line).to_string()).collect()
}

#[test]
fn status_fits_a_screen_of_any_size() {
    let sandbox = Sandbox::new();
    play(&sandbox);
    insta::assert_snapshot!(sizeless(&shown(&sandbox, 40, 13).join("\n")), @"
    session-aaaaaaaa running for 1h00m04s,
      last event 59m59s ago
      Members (1 working, 1 idle, 1 joined)
        team-lead  joined  1h00m04s
        alice      working 1h00m02s task 2
          Task 2
        bob        idle    1h00m01s 1
          unread
      Tasks (1 of 3 done)
        2  in_progress alice    Task 2
        3  pending     -        Task 3
    Recorded: 1 run, 6 events, # KB
    05:05:10 UTC, q to quit
    ");
    insta::assert_snapshot!(shown(&sandbox, 40, 6).join("\n"), @"
    session-aaaaaaaa running for 1h00m04s,
      last event 59m59s ago
      Members (1 working, 1 idle, 1 joined)
        team-lead  joined  1h00m04s
    … 8 more lines
    05:05:10 UTC, q to quit
    ");
    for (columns, rows) in [(1, 1), (2, 3), (10, 5), (40, 24), (300, 100)] {
        let lines = shown(&sandbox, columns, rows);
        assert!(lines.len() <= rows, "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() < columns.max(2)), "{lines:?}");
    }
}

#[test]
fn watch_redraws_changes_and_restores_the_terminal() {
    let sandbox = Sandbox::new();
    let lead = play(&sandbox);
    for (end, code) in [("q", Some(0)), ("INT", Some(0)), ("TERM", Some(143))] {
        let mut terminal = Terminal::run(&sandbox, &["status", "--watch"], &[]);
        terminal.until("q to quit");
        assert!(terminal.told.contains(OPEN) && terminal.takes_keys(), "{:?}", terminal.told);
        let subject = format!("news {end}");
        sandbox.write(
            "tasks/session-aaaaaaaa/4.json",
            json!({"id": "4", "subject": subject, "status": "pending"}),
        );
        lead.hook("Notification", json!({}));
        terminal.until(&subject);
        assert_eq!(terminal.told.matches("Task 3").count(), 1, "what stays is not drawn again");
        let size = Winsize { ws_row: 7, ws_col: 40, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal.master, size).unwrap();
        let pid = Pid::from_child(&terminal.child);
        kill_process(pid, Signal::WINCH).unwrap();
        terminal.until("more lines");
        match end {
            "INT" => kill_process(pid, Signal::INT).unwrap(),
            "TERM" => kill_process(pid, Signal::TERM).unwrap(),
            key => drop(rustix::io::write(&terminal.master, key.as_bytes()).unwrap()),
        }
        terminal.until(CLOSE);
        terminal.until("Recorded:");
        assert!(!terminal.takes_keys());
        let result = terminal.end();
        assert_eq!((result.code, result.err.as_str()), (code, ""), "{end}");
    }
    let result = sandbox.run(&["status", "--watch"]);
    assert!(result.code == Some(64) && result.err.contains("hint: "), "{}", result.err);
}
