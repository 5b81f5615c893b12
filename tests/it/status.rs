//! How the teams stand that are alive: for people, for programs, on a whole terminal, and in one line.

use std::process::Stdio;

use anstream::adapter::strip_str;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};

use super::play::Lead;
use super::stage::{Said, Stage, feed, sizeless};
use super::terminal::{CLOSE, OPEN, Terminal};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-1"), "agent_type": name})
}

/// A team at work: alice in a turn, bob idle with a message that waits, three tasks.
fn play(stage: &Stage) -> Lead<'_> {
    let lead = Lead::of(stage, ONE);
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

fn line(stage: &Stage, stdin: &[u8]) -> Said {
    feed(&mut stage.command(&["status", "--line"]), stdin)
}

fn ok(text: &str) -> (Option<i32>, String, String) {
    (Some(0), format!("{text}\n"), String::new())
}

fn all(said: Said) -> (Option<i32>, String, String) {
    (said.code, said.out, said.err)
}

#[test]
fn it_says_who_works_who_idles_since_when_and_what_is_to_be_done() {
    let stage = Stage::new();
    play(&stage);
    insta::assert_snapshot!(sizeless(&stage.told(&["status"])), @"
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
fn every_agent_that_is_counted_is_listed() {
    let stage = Stage::new();
    let lead = play(&stage);
    lead.roster(1_770_091_200_000, &["alice"]);
    lead.hook("Notification", json!({}));
    let told = stage.told(&["status"]);
    assert!(told.contains("Members (1 working, 1 joined, 1 left)\n"), "{told}");
    let listed =
        |state: &str| told.lines().filter(|line| line.split_whitespace().nth(1) == Some(state)).count();
    assert_eq!(["working", "joined", "left"].map(listed), [1, 1, 1], "{told}");
    let status: Value = serde_json::from_str(&stage.told(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"][0]["members"][2]["doing"], "gone");
}

#[test]
fn a_program_gets_the_same_as_one_object() {
    let stage = Stage::new();
    play(&stage);
    stage.run(&["policy", "pause", "1h", "--gate", "idle-with-work"]);
    let status: Value = serde_json::from_str(&stage.told(&["status", "--json"])).unwrap();
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
    assert_eq!(status["record"]["events"], stage.log().len());
    assert_eq!((&status["record"]["runs"], &status["record"]["events_counted"]), (&json!(1), &json!(true)));
}

#[test]
fn what_was_blocked_and_let_through_is_counted() {
    let stage = Stage::new();
    let lead = play(&stage);
    stage.unconfigure();
    let input = json!({"to": "alice", "message": {"type": "shutdown_request", "reason": "done"}});
    let payload = lead.payload("PreToolUse", json!({"tool_name": "SendMessage", "tool_input": input}));
    let codes: Vec<_> =
        (0..4).map(|_| stage.feed("pre-tool-use", payload.to_string().as_bytes(), &[]).code).collect();
    assert_eq!(codes, [Some(2), Some(2), Some(2), Some(0)]);
    let status: Value = serde_json::from_str(&stage.told(&["status", "--json"])).unwrap();
    let team = &status["teams"][0];
    assert_eq!((&team["blocks"], &team["escalations"]), (&json!(3), &json!(1)));
    let told = line(&stage, b"");
    assert_eq!(
        all(told),
        ok(
            "session-aaaaaaaa: 1 working, 1 idle · 1/3 tasks · 1 unread · 3 blocks · 1 allowed by the loop guard"
        )
    );
}

#[test]
fn a_team_is_alive_until_its_end_is_on_record_or_its_client_is_gone() {
    let stage = Stage::new();
    let lead = play(&stage);
    lead.erase();
    lead.end("other");
    stage.finish();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let gone = child.id();
    child.wait().unwrap();
    let killed = Lead::of(&stage, TWO);
    killed.config(1_770_091_300_000, &["carol"], json!({"leadProcess": {"pid": gone}}));
    killed.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let status: Value = serde_json::from_str(&stage.told(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"], json!([]), "{status:#}");
    assert!(
        stage
            .told(&["status"])
            .starts_with("No running teams. To see the last run: teamkeep replay\nRecorded: 2 runs, ")
    );
    assert_eq!(all(line(&stage, b"")), ok("teamkeep: no team"));
}

#[test]
fn a_team_that_no_session_takes_part_in_is_none() {
    let stage = Stage::new();
    play(&stage);
    let unused = Lead::of(&stage, TWO);
    unused.roster(1_770_091_300_000, &[]);
    stage.set_clock(60_000);
    Lead::of(&stage, ONE).start("resume");
    let status: Value = serde_json::from_str(&stage.told(&["status", "--json"])).unwrap();
    assert_eq!(status["teams"].as_array().unwrap().len(), 1, "{status:#}");
    assert!(line(&stage, b"").out.starts_with("session-aaaaaaaa: "));
}

#[test]
fn nothing_on_record_is_no_error() {
    let stage = Stage::new();
    insta::assert_snapshot!(stage.told(&["status"]), @"
    No running teams.
    Recorded: 0 runs, 0 events, 0 B
    ");
    assert_eq!(all(line(&stage, b"")), ok("teamkeep: no team"));
}

#[test]
fn the_line_is_that_of_the_session_that_the_client_names() {
    let stage = Stage::new();
    play(&stage);
    let other = Lead::named(&stage, TWO, "parser-team");
    other.roster(1_770_091_300_000, &["carol"]);
    other.tool("u1", "TeamCreate", &json!({"team_name": "parser-team"}), json!({"team_name": "parser-team"}));
    let one = "session-aaaaaaaa: 1 working, 1 idle · 1/3 tasks · 1 unread";
    let word = |session: &str| json!({"session_id": session, "model": {"id": "m"}}).to_string();
    assert_eq!(all(line(&stage, word(ONE).as_bytes())), ok(one));
    assert_eq!(all(line(&stage, word(TWO).as_bytes())), ok("parser-team: 1 idle"));
    assert_eq!(all(line(&stage, word("cccccccc").as_bytes())), ok("teamkeep: no team"));
    for nothing in ["", "{", "[]", "{\"session_id\": null}", "\u{0}"] {
        assert_eq!(all(line(&stage, nothing.as_bytes())), ok("parser-team: 1 idle"), "{nothing:?}");
    }
}

#[test]
fn the_line_waits_for_no_stdin_and_never_fails() {
    let stage = Stage::new();
    play(&stage);
    let (open, _held) = std::io::pipe().unwrap();
    let mut command = stage.command(&["status", "--line"]);
    let said: Said = command.stdin(open).output().unwrap().into();
    assert_eq!(all(said), ok("session-aaaaaaaa: 1 working, 1 idle · 1/3 tasks · 1 unread"));
    stage.write_config("[policy]\nmax-blocks = \"nonsense\"");
    assert_eq!(line(&stage, b"").code, Some(0));
    let mut command = stage.command(&["status", "--line"]);
    command.env("TEAMKEEP_HOME", "relative").stdin(Stdio::null());
    let said: Said = command.output().unwrap().into();
    assert_eq!(all(said), ok("teamkeep: status unknown, run `teamkeep status`"));
    let archive = stage.keep("archive");
    for place in ["runs", "open", "closed"] {
        std::fs::remove_dir_all(archive.join(place)).ok();
        std::fs::write(archive.join(place), "no directory").unwrap();
    }
    stage.unconfigure();
    assert_eq!(all(line(&stage, b"")), ok("teamkeep: no team"));
}

#[test]
fn what_agents_write_cannot_drive_the_terminal() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, ONE);
    lead.roster(1_770_091_200_000, &["\u{1b}[2Jbob"]);
    lead.start("startup");
    let task = json!({"id": "1", "subject": "\u{1b}]0;x\u{7}\u{202e}wild", "status": "pending"});
    stage.write("tasks/session-aaaaaaaa/1.json", task);
    lead.hook("Notification", json!({}));
    let told = [stage.told(&["status"]), line(&stage, b"").out].concat();
    assert!(told.contains("wild") && !told.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{told}");
}

/// What stands on a terminal of this size.
fn shown(stage: &Stage, columns: usize, rows: usize) -> Vec<String> {
    use teamkeep::status::{Status, Surroundings, alive};
    let library = stage.library();
    let opened = library.open_stories(&alive(&library)).unwrap();
    let (client, log, policy) = (stage.client(""), stage.keep("log"), stage.keep("policy"));
    let surroundings = Surroundings { client: Some(&client), log: &log, policy: &policy };
    let now = teamkeep::clock::parse("2026-02-03T05:05:10Z").unwrap();
    let status = Status::of(&library, &opened, &surroundings, Default::default(), now);
    let lines = teamkeep::render::status_screen(&status, now, "q to quit", columns, rows);
    lines.iter().map(|line| strip_str(line).to_string()).collect()
}

#[test]
fn a_screen_of_any_size_holds_what_it_can() {
    let stage = Stage::new();
    play(&stage);
    insta::assert_snapshot!(sizeless(&shown(&stage, 40, 13).join("\n")), @"
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
    insta::assert_snapshot!(shown(&stage, 40, 6).join("\n"), @"
    session-aaaaaaaa running for 1h00m04s,
      last event 59m59s ago
      Members (1 working, 1 idle, 1 joined)
        team-lead  joined  1h00m04s
    … 8 more lines
    05:05:10 UTC, q to quit
    ");
    for (columns, rows) in [(1, 1), (2, 3), (10, 5), (40, 24), (300, 100)] {
        let lines = shown(&stage, columns, rows);
        assert!(lines.len() <= rows, "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() < columns.max(2)), "{lines:?}");
    }
}

#[test]
fn a_watch_draws_what_changes_and_gives_the_terminal_back() {
    let stage = Stage::new();
    let lead = play(&stage);
    for (end, code) in [("q", Some(0)), ("INT", Some(0)), ("TERM", Some(143))] {
        let mut terminal = Terminal::run(&stage, &["status", "--watch"], &[]);
        terminal.until("q to quit");
        assert!(terminal.told.contains(OPEN) && terminal.takes_keys(), "{:?}", terminal.told);
        let subject = format!("news {end}");
        stage.write(
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
        let said = terminal.end();
        assert_eq!((said.code, said.err.as_str()), (code, ""), "{end}");
    }
    let said = stage.run(&["status", "--watch"]);
    assert!(said.code == Some(64) && said.err.contains("hint: "), "{}", said.err);
}
