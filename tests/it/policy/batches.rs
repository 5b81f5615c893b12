//! The loop guard counts refusals that the model could read: the calls of one message once, whoever makes them.

use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_system::fs;

use super::gate_sandbox::{SESSION, TEAM, busy, pairs, verdicts};
use super::team_sandbox::Team;
use crate::support::sandbox::{CommandResult, START, Sandbox, feed};

/// Somebody asks for bob's shutdown.
fn request(sandbox: &Sandbox, id: &str) -> Value {
    json!({"session_id": SESSION, "cwd": sandbox.home().join("parser"), "hook_event_name": "PreToolUse", "tool_name": "SendMessage",
        "tool_use_id": id, "tool_input": {"to": "bob", "message": {"type": "shutdown_request"}}})
}

fn ask(sandbox: &Sandbox, id: &str) -> CommandResult {
    sandbox.feed("", request(sandbox, id).to_string().as_bytes(), &[])
}

/// The exit codes of calls at these times, in milliseconds.
fn ask_at(sandbox: &Sandbox, times: impl IntoIterator<Item = i64>) -> Vec<Option<i32>> {
    let ask = |time: i64| {
        sandbox.set_clock(time);
        ask(sandbox, &format!("u{time}")).code
    };
    times.into_iter().map(ask).collect()
}

#[test]
fn the_calls_of_one_message_are_blocked_together_and_count_once() {
    let sandbox = busy("");
    assert_eq!(ask_at(&sandbox, [0, 100, 250, 400, 700]), [Some(2); 5], "no answer was read yet");
    assert_eq!(ask_at(&sandbox, [4_000, 4_200, 8_000]), [Some(2); 3]);
    assert_eq!(ask_at(&sandbox, [12_000, 12_100]), [Some(0); 2]);
    let log = sandbox.log();
    let counts = log.iter().filter(|line| line["verdict"]["escalated"] == true);
    assert!(counts.map(|line| &line["verdict"]["blocks"]).all(|blocks| *blocks == 3));
    let replay = sandbox.replay(TEAM);
    let told: Vec<&Value> = replay.iter().filter_map(|entry| entry.get("blocks")).collect();
    assert_eq!(told, [&json!(3), &json!(3)]);
}

#[test]
fn a_loop_of_calls_by_hand_counts_once_in_each_window_and_is_not_blocked_forever() {
    let sandbox = busy("");
    assert_eq!(ask_at(&sandbox, (0..12).map(|number| number * 150)), [Some(2); 12], "less than two seconds");
    assert_eq!(ask_at(&sandbox, [2_000, 3_900, 4_000, 5_900]), [Some(2); 4]);
    assert_eq!(ask_at(&sandbox, [6_000]), [Some(0)]);
}

#[test]
fn a_backtest_counts_like_the_hook() {
    let team = Team::new("");
    team.roster(&["bob"]);
    team.task(2, "in_progress", "bob", &[]);
    let codes = [1_000, 1_100, 5_000, 5_100, 9_000, 13_000].map(|time| {
        team.sandbox.set_clock(time);
        let input = json!({"to": "bob", "message": {"type": "shutdown_request"}});
        team.event("PreToolUse", None, json!({"tool_name": "SendMessage", "tool_input": input})).code
    });
    assert_eq!(codes, [Some(2), Some(2), Some(2), Some(2), Some(2), Some(0)]);
    let (live, tested) = team.both();
    assert_eq!(tested, live);
}

#[test]
fn sixteen_concurrent_requests_are_all_blocked() {
    let sandbox = busy("");
    let result: Vec<CommandResult> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..16)
            .map(|number| {
                let payload = request(&sandbox, &format!("u{number}")).to_string();
                let mut command = sandbox.command(&["hook"]);
                command.env("TEAMKEEP_NOW", START);
                scope.spawn(move || feed(&mut command, payload.as_bytes()))
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let through: Vec<&CommandResult> = result.iter().filter(|result| result.code != Some(2)).collect();
    assert!(through.is_empty(), "{through:?}\n{}", sandbox.diagnostics());
}

#[test]
fn a_block_that_cannot_be_counted_in_time_is_a_warning_unless_on_error_is_block() {
    let name = "shutdown-of-busy-teammate";
    for (on_error, code, found) in [("allow", 0, "warn"), ("block", 2, "block")] {
        let sandbox =
            busy(&format!("[log]\nlock-patience = \"20ms\"\n[policy]\non-error = \"{on_error}\"\n"));
        assert_eq!(ask(&sandbox, "a").code, Some(2));
        let lock = fs::lock(&sandbox.run_log().dir().join("gates.lock"), Duration::ZERO).unwrap().unwrap();
        let result = ask(&sandbox, "b");
        assert_eq!(result.code, Some(code), "{result:?}");
        assert_eq!(result.out.contains("cannot count its blocks"), on_error == "allow", "{result:?}");
        let decisions = verdicts(&sandbox);
        assert_eq!(pairs(&decisions), [(name, "block"), (name, found), ("policy-failed", on_error)]);
        drop(lock);
        assert_eq!(ask(&sandbox, "c").code, Some(2), "the next one is counted");
    }
}

#[test]
fn overrides_behind_a_link_or_in_a_directory_disable_no_gate() {
    for link in [false].into_iter().chain(cfg!(unix).then_some(true)) {
        let sandbox = busy("");
        let (path, other) = (sandbox.keep("overrides.json"), sandbox.home().join("other.json"));
        let pause = json!({"v": 1, "pauses": [{"gate": null, "team": null, "until": "2026-02-03T05:00:00Z"}], "shutdowns": []});
        std::fs::write(&other, pause.to_string()).unwrap();
        std::fs::create_dir_all(sandbox.keep("")).unwrap();
        match link {
            #[cfg(unix)]
            true => std::os::unix::fs::symlink(&other, &path).unwrap(),
            #[cfg(windows)]
            true => unreachable!(),
            false => std::fs::create_dir(&path).unwrap(),
        }
        let result = ask(&sandbox, "a");
        assert_eq!(result.code, Some(2), "{result:?}");
        assert_eq!(pairs(&verdicts(&sandbox)), [("shutdown-of-busy-teammate", "block")]);
    }
}

#[test]
fn an_override_that_no_command_wrote_is_recorded_once_for_each_content() {
    let sandbox = busy("");
    let write = |until: &str| {
        let pause =
            json!({"v": 1, "pauses": [{"gate": null, "team": TEAM, "until": until}], "shutdowns": []});
        std::fs::create_dir_all(sandbox.keep("")).unwrap();
        std::fs::write(sandbox.keep("overrides.json"), pause.to_string()).unwrap();
    };
    let found = || {
        let log = sandbox.log();
        let overrides = log.into_iter().filter(|line| line["event"] == "PolicyOverride");
        overrides.map(|line| line["payload"].clone()).collect::<Vec<_>>()
    };
    write("2026-02-03T05:00:00Z");
    assert_eq!(["a", "b"].map(|id| ask(&sandbox, id).code), [Some(0); 2]);
    let first = json!({"override": "pause", "gate": null, "team": TEAM, "until": "2026-02-03T05:00:00.000Z", "found": true});
    assert_eq!(found(), std::slice::from_ref(&first));
    write("2026-02-03T06:00:00Z");
    assert_eq!(ask(&sandbox, "c").code, Some(0));
    assert_eq!(found().len(), 2, "another content");
    let log = sandbox.printed(&["log", "--raw"]);
    assert!(
        log.contains("pause every gate and rule until 2026-02-03 05:00:00 UTC (found in the file)"),
        "{log}"
    );
    for args in [["resume"].as_slice(), &["pause", "15m"]] {
        assert_eq!(sandbox.run(args).code, Some(0));
    }
    assert_eq!(ask(&sandbox, "d").code, Some(0));
    let commands = found().into_iter().filter(|payload| payload.get("found").is_none());
    assert_eq!((commands.count(), found().len()), (2, 4), "what a command writes is on record by that");
}
