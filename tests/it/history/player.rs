//! A run that is played in time: on a terminal, and in a pipe.

use anstream::adapter::strip_str;
use serde_json::json;
use teamkeep::timeline::{LiveState, merge};
use teamkeep::view::{self, PlayerView};
use teamkeep_core::sys::clock;

use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, lines};
use crate::support::terminal::{CLOSE, OPEN, Terminal};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    let by = |name: &str| json!({"agent_id": format!("a{name}-1"), "agent_type": name});
    for id in 1..=12 {
        lead.task(&id.to_string(), if id < 4 { "completed" } else { "pending" }, None);
    }
    lead.task("7", "in_progress", Some("alice"));
    lead.hook("SubagentStart", by("alice"));
    let input = json!({"to": "bob", "summary": "\u{1b}[2Jwild \u{202e} 日本語 text", "message": "x"});
    lead.before("u1", "SendMessage", &input, by("alice"));
    lead.after("u1", "SendMessage", &input, json!({"success": true}), by("alice"));
    sandbox.set_clock(3_600_000);
    lead.hook("SubagentStart", by("bob"));
    lead.hook("SubagentStop", by("bob"));
    sandbox
}

#[test]
fn piped_player_prints_lines_and_marks_shortened_pauses() {
    let sandbox = sandbox();
    let plain = sandbox.told(&["replay", "--all"]);
    assert_eq!(sandbox.told(&["replay", "--all", "--speed", "max"]), plain);
    let told = sandbox.told(&["replay", "--all", "--speed", "100000"]);
    assert_eq!(told, plain, "an hour is no pause at such a speed");
    let told = sandbox.told(&["replay", "--all", "--speed", "1000x"]);
    let pause = "          … 59m58s passed\n";
    assert!(told.contains(&format!("{pause}1h00m00s bob ")), "{told}");
    assert_eq!(told.replace(pause, ""), plain);
    let json = sandbox.told(&["replay", "--json", "--speed", "max"]);
    assert_eq!(lines(&json), sandbox.replay("latest"));
    let part = sandbox.told(&["replay", "--speed", "max", "--actor", "bob", "--kind", "turn-ended"]);
    assert!(part.ends_with("1h00m01s bob  ended the turn\n"), "{part}");
}

#[test]
fn invalid_speed_is_reported() {
    let sandbox = sandbox();
    for wrong in [&["--speed", "fast"][..], &["--speed", "0"], &["--speed", "2x", "--follow"]] {
        assert_eq!(sandbox.run(&[&["replay"], wrong].concat()).code, Some(64), "{wrong:?}");
    }
    let result = sandbox.run(&["replay", "--speed", "2x", "--format", "mermaid"]);
    assert!(result.code == Some(64) && result.err.contains("hint: remove --follow"), "{}", result.err);
}

/// What stands on a terminal of this size when so much of the run was played.
fn shown(sandbox: &Sandbox, columns: usize, rows: usize) -> String {
    let library = sandbox.library();
    let opened = library.open_runs(&[library.find("latest").unwrap()]).unwrap();
    let material = &opened.runs[0];
    let state = LiveState::of(&merge(material).entries);
    let story: Vec<String> = (1..100).map(|number| format!("line {number}")).collect();
    let view = PlayerView {
        team: "session-aaaaaaaa",
        started_at: material.run.started_at,
        now: clock::parse("2026-02-03T05:05:10Z").unwrap(),
        played: 0.5,
        pace: "10x",
        keys: "space pauses, q ends",
        state: &state,
        lines: &story,
    };
    let lines = view::player_screen(&view, (columns, rows));
    assert!(lines.len() <= rows, "{lines:?}");
    lines.iter().map(|line| strip_str(line).to_string() + "\n").collect()
}

#[test]
fn player_screen_shows_clock_roster_tasks_and_timeline() {
    let sandbox = sandbox();
    insta::assert_snapshot!(shown(&sandbox, 80, 16), @"
    +1h00m04s 2026-02-03 05:05:10 UTC 10x session-aaaaaaaa
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━────────────────────────────────────────
      Members (1 working, 1 idle, 1 joined)
        team-lead  joined  1h00m04s
        alice      working 1h00m03s task 7 Task 7
        bob        idle    3s
      Tasks (3 of 12 done)
        4  pending     -        Task 4
        5  pending     -        Task 5
    … 7 more lines
    line 95
    line 96
    line 97
    line 98
    line 99
    space pauses, q ends
    ");
    insta::assert_snapshot!(shown(&sandbox, 40, 14), @"
    +1h00m04s 05:05:10 10x session-aaaaaaaa
    ━━━━━━━━━━━━━━━━━━━────────────────────
      Members (1 working, 1 idle, 1 joined)
        team-lead  joined  1h00m04s
        alice      working 1h00m03s task 7
          Task 7
        bob        idle    3s
      Tasks (3 of 12 done)
    … 9 more lines
    line 96
    line 97
    line 98
    line 99
    space pauses, q ends
    ");
    for (columns, rows) in [(1, 1), (2, 3), (10, 5), (40, 12), (300, 100)] {
        let told = shown(&sandbox, columns, rows);
        assert!(told.lines().all(|line| line.chars().count() < columns.max(2)), "{told}");
    }
}

#[test]
fn player_restores_the_terminal_on_every_exit() {
    let sandbox = sandbox();
    for (end, code) in [("\u{3}", None), ("q", Some(0)), ("TERM", Some(143))] {
        let mut terminal = Terminal::run(&sandbox, &["replay", "--speed", "0.01x"], &[]);
        terminal.until("space pauses, q ends");
        assert!(terminal.told.contains(OPEN) && !terminal.told.contains(CLOSE), "{:?}", terminal.told);
        assert!(terminal.takes_keys());
        let code = match end {
            "TERM" => {
                let pid = rustix::process::Pid::from_child(&terminal.child);
                rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
                code
            }
            // The terminal is nobody's to send a signal to: the key itself comes.
            "\u{3}" => {
                let pid = rustix::process::Pid::from_child(&terminal.child);
                rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
                Some(130)
            }
            key => {
                rustix::io::write(&terminal.master, key.as_bytes()).unwrap();
                code
            }
        };
        terminal.until(CLOSE);
        assert!(!terminal.takes_keys());
        let result = terminal.end();
        assert_eq!((result.code, result.err.as_str()), (code, ""), "{end:?}");
    }
}

#[test]
fn player_leaves_the_last_page_on_screen_at_the_end() {
    let sandbox = sandbox();
    let mut terminal = Terminal::run(&sandbox, &["replay", "--full", "--speed", "100000x"], &[]);
    terminal.until(CLOSE);
    terminal.until("ended the turn\u{1b}[0m\r\n");
    let told = terminal.told.clone();
    let (page, after) = told.split_once(CLOSE).unwrap();
    assert!(page.contains("wild"), "{page:?}");
    assert!(!page.contains("\u{1b}[2Jwild") && !page.contains('\u{202e}'), "{page:?}");
    assert!(strip_str(after).to_string().starts_with("+1h00m01s"), "{after:?}");
    assert_eq!(terminal.end().code, Some(0));
}

#[test]
fn player_prints_plain_text_without_color_and_on_a_dumb_terminal() {
    let sandbox = sandbox();
    let mut terminal = Terminal::run(&sandbox, &["replay", "--speed", "100000x"], &[("NO_COLOR", "1")]);
    terminal.until(CLOSE);
    assert!(!terminal.told.contains("\u{1b}[32m") && terminal.told.contains(OPEN), "{:?}", terminal.told);
    terminal.end();
    let mut terminal = Terminal::run(&sandbox, &["replay", "--speed", "100000x"], &[("TERM", "dumb")]);
    terminal.until("ended the turn\r\n");
    assert!(!terminal.told.contains('\u{1b}'), "{:?}", terminal.told);
    terminal.end();
}
