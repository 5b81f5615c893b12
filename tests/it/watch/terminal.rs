//! `watch` on a terminal: it draws what changes, and leaves the terminal as it was.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use super::stalled;
use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, feed};
use crate::support::terminal::{CLOSE, OPEN, Terminal};

/// The call has the clock of the last one.
fn watch(sandbox: &Sandbox, args: &[&str], env: &[(&str, &str)]) -> Terminal {
    Terminal::run(sandbox, args, env)
}

#[test]
fn changes_are_drawn_and_the_terminal_is_restored_on_every_exit() {
    let sandbox = Sandbox::new();
    let lead = stalled(&sandbox);
    for (end, code) in [("q", Some(0)), ("INT", Some(0)), ("TERM", Some(143)), ("HUP", Some(129))] {
        let mut terminal = watch(&sandbox, &["watch"], &[]);
        terminal.until_shown("q quit");
        assert!(terminal.told.contains(OPEN) && terminal.takes_keys(), "{:?}", terminal.told);
        assert!(!terminal.told.contains(CLOSE));
        let subject = format!("news {end}");
        let task = json!({"id": "9", "subject": subject, "status": "pending"});
        sandbox.write("tasks/session-aaaaaaaa/9.json", task);
        lead.hook("Notification", json!({}));
        terminal.until_shown(&subject);
        let size = Winsize { ws_row: 7, ws_col: 30, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal.master, size).unwrap();
        let pid = Pid::from_child(&terminal.child);
        let drawn = terminal.told.len();
        kill_process(pid, Signal::WINCH).unwrap();
        terminal.until_after(drawn, "\u{1b}[2J");
        match end {
            "INT" => kill_process(pid, Signal::INT).unwrap(),
            "TERM" => kill_process(pid, Signal::TERM).unwrap(),
            "HUP" => kill_process(pid, Signal::HUP).unwrap(),
            key => drop(rustix::io::write(&terminal.master, key.as_bytes()).unwrap()),
        }
        terminal.until(CLOSE);
        assert!(!terminal.takes_keys());
        let result = terminal.end();
        assert_eq!((result.code, result.err.as_str()), (code, ""), "{end}");
    }
}

#[test]
fn a_stopped_watch_gives_the_terminal_back_and_takes_it_again() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    for by_key in [false, true] {
        let mut command = sandbox.command(&["watch"]);
        // Ctrl-Z stops the whole group.
        command.env("TERM", "xterm").process_group(0);
        let mut terminal = Terminal::of(command);
        terminal.until_shown("q quit");
        let pid = Pid::from_child(&terminal.child);
        match by_key {
            true => drop(rustix::io::write(&terminal.master, b"\x1a").unwrap()),
            false => kill_process(pid, Signal::TSTP).unwrap(),
        }
        terminal.until(CLOSE);
        assert!(!terminal.takes_keys());
        // The terminal is restored just before the process stops.
        waitpid(Some(pid), WaitOptions::UNTRACED).unwrap();
        let stopped = terminal.told.len();
        kill_process(pid, Signal::CONT).unwrap();
        terminal.until_after(stopped, OPEN);
        terminal.until_shown("q quit");
        assert!(terminal.takes_keys());
        rustix::io::write(&terminal.master, b"q").unwrap();
        terminal.until_after(stopped, CLOSE);
        assert_eq!(terminal.end().code, Some(0));
    }
}

#[test]
fn a_terminal_that_closes_ends_the_command() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let mut terminal = watch(&sandbox, &["watch"], &[]);
    terminal.until_shown("q quit");
    let Terminal { master, mut child, .. } = terminal;
    drop(master);
    assert_eq!(child.wait().unwrap().code(), Some(129));
}

#[test]
fn a_terminal_that_closes_with_its_errors_ends_the_command_without_a_crash() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let mut terminal = Terminal::with_errors(sandbox.command(&["watch"]), 80);
    terminal.until_shown("q quit");
    let Terminal { master, mut child, .. } = terminal;
    drop(master);
    assert_eq!(child.wait().unwrap().code(), Some(129));
}

#[test]
fn a_key_acts_at_once_also_after_a_change_of_the_size() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let mut terminal = watch(&sandbox, &["watch"], &[]);
    terminal.until_shown("q quit");
    let pid = Pid::from_child(&terminal.child);
    for (key, shown) in [("?", "Keys"), ("q", "q quit"), ("?", "Keys")] {
        rustix::io::write(&terminal.master, key.as_bytes()).unwrap();
        terminal.until_shown(shown);
        let drawn = terminal.told.len();
        kill_process(pid, Signal::WINCH).unwrap();
        terminal.until_after(drawn, "\u{1b}[2J");
    }
    rustix::io::write(&terminal.master, b"\x03").unwrap();
    terminal.until(CLOSE);
    assert_eq!(terminal.end().code, Some(0));
}

#[test]
fn a_new_team_is_shown_when_the_one_before_has_ended() {
    let sandbox = Sandbox::new();
    let lead = stalled(&sandbox);
    let mut terminal = watch(&sandbox, &["watch"], &[]);
    terminal.until_shown("running");
    lead.erase();
    lead.end("other");
    sandbox.finish();
    terminal.until_shown("ended");
    let next = Lead::of(&sandbox, "bbbbbbbb-0000-4000-8000-000000000002");
    next.roster(super::CREATED + 60_000, &["dora"]);
    next.start("startup");
    next.hook("SubagentStart", super::by("dora"));
    terminal.until_shown("dora");
    rustix::io::write(&terminal.master, b"q").unwrap();
    terminal.until(CLOSE);
    assert_eq!(terminal.end().code, Some(0));
}

#[test]
fn a_crash_while_the_board_is_open_is_an_alert() {
    for tasks in [0, 1] {
        let sandbox = Sandbox::new();
        let mut client = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let lead = Lead { pid: Some(client.id()), ..Lead::of(&sandbox, super::SESSION) };
        lead.config(super::CREATED, &["bob"], json!({"leadProcess": {"pid": client.id()}}));
        lead.start("startup");
        if tasks > 0 {
            super::task(&lead, 1, "Build the app", ("in_progress", Some("bob")), &[]);
        }
        lead.hook("SubagentStart", super::by("bob"));
        // The transcript has a sign of life after the last hook call.
        sandbox.set_clock(sandbox.millis() + 94);
        lead.says("user", json!("go on"));
        let mut terminal = watch(&sandbox, &["watch"], &[]);
        terminal.until_shown("no incidents");
        client.kill().unwrap();
        client.wait().unwrap();
        terminal.until_shown("crashed");
        terminal.until_shown(if tasks == 0 { "1 low" } else { "1 high" });
        rustix::io::write(&terminal.master, b"q").unwrap();
        terminal.until(CLOSE);
        assert_eq!(terminal.end().code, Some(0));
        let mut later = watch(&sandbox, &["watch"], &[]);
        later.until_shown("Claude Code exited without ending its session");
        rustix::io::write(&later.master, b"q").unwrap();
        later.until(CLOSE);
        assert!(!later.told.contains("no incidents"), "{}", later.told);
        assert_eq!(later.end().code, Some(0));
    }
}

#[test]
fn an_empty_store_waits_for_a_team() {
    let sandbox = Sandbox::new();
    let mut quit = watch(&sandbox, &["watch"], &[]);
    quit.until_shown("waiting for a team");
    rustix::io::write(&quit.master, b"q").unwrap();
    quit.until(CLOSE);
    assert_eq!(quit.end().code, Some(0));
    let mut terminal = watch(&sandbox, &["watch"], &[]);
    terminal.until_shown("waiting for a team …");
    assert!(terminal.screen().contains("teamkeep doctor"), "{}", terminal.screen());
    stalled(&sandbox);
    terminal.until_shown("mobile");
    rustix::io::write(&terminal.master, b"q").unwrap();
    terminal.until(CLOSE);
    assert_eq!(terminal.end().code, Some(0));
    let named = watch(&Sandbox::new(), &["watch", "latest"], &[]).end();
    assert_eq!(named.code, Some(1), "{}", named.err);
}

#[test]
fn a_remedy_is_passed_to_the_clipboard_of_the_terminal() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let mut terminal = watch(&sandbox, &["watch"], &[]);
    terminal.until_shown("y: copy");
    rustix::io::write(&terminal.master, b"y").unwrap();
    terminal.until_shown("copied");
    let remedy = STANDARD.encode("Ask mobile for #4, or reassign the task");
    assert!(terminal.told.contains(&format!("\u{1b}]52;c;{remedy}\u{7}")), "{:?}", terminal.told);
    rustix::io::write(&terminal.master, b"q").unwrap();
    terminal.until(CLOSE);
    assert_eq!(terminal.end().code, Some(0));
}

#[test]
fn a_run_that_is_played_moves_to_its_end() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let mut terminal = watch(&sandbox, &["watch", "--speed", "max"], &[]);
    terminal.until_shown("Is the app done?");
    rustix::io::write(&terminal.master, b"q").unwrap();
    terminal.until(CLOSE);
    terminal.end();
}

#[test]
fn without_a_terminal_there_is_an_error_with_a_hint() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    {
        let result = sandbox.run(&["watch"]);
        assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
        assert!(
            result.err.contains("watch needs a terminal\nhint: ") && result.err.contains("teamkeep status")
        );
    }
    let mut terminal = watch(&sandbox, &["watch"], &[("TERM", "dumb")]);
    let code = terminal.child.wait().unwrap().code();
    assert_eq!(code, Some(1));
    for wrong in [&["watch", "--speed", "fast"][..], &["watch", "--speed", "0"], &["watch", "no-such-team"]] {
        assert_ne!(sandbox.run(wrong).code, Some(0), "{wrong:?}");
    }
}

#[test]
fn the_status_line_counts_the_same_agents_and_incidents() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let line = || feed(&mut sandbox.command(&["status", "--line"]), b"").out;
    let shown = line();
    assert!(shown.contains(": 1 stalled, 2 working, 1 idle · 1 incident · 1/4 tasks"), "{shown}");
    let status = sandbox.printed(&["status"]);
    assert!(
        status.contains("\n  ! mobile has been silent for 39 min")
            && status.contains("(1 stalled, 2 working, 1 idle)"),
        "{status}"
    );
    // They are stored for half a minute.
    let run = sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
    let note = sandbox.archive().cache_path(&run, "attention.json").unwrap();
    let stored = std::fs::read_to_string(&note).unwrap();
    std::fs::write(&note, stored.replace("mobile", "carol").replace("\"incidents\":1", "\"incidents\":7"))
        .unwrap();
    assert!(line().contains(": 1 stalled, 2 working, 1 idle · 7 incidents · "));
    sandbox.set_clock(sandbox.millis() + 31_000);
    assert_eq!(line(), shown);
    std::fs::write(&note, "{").unwrap();
    assert_eq!(line(), shown);
}

#[test]
fn without_color_the_board_is_plain_text() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let mut terminal = watch(&sandbox, &["watch"], &[("NO_COLOR", "1")]);
    terminal.until_shown("q quit");
    assert!(
        !terminal.told.contains("\u{1b}[38;")
            && !terminal.told.contains("\u{1b}[31m")
            && !terminal.told.contains("\u{1b}[1m"),
        "{:?}",
        terminal.told
    );
    assert!(
        terminal.screen().contains("! mobile"),
        "signs are readable without colors: {}",
        terminal.screen()
    );
    rustix::io::write(&terminal.master, b"q").unwrap();
    terminal.until(CLOSE);
    terminal.end();
}
