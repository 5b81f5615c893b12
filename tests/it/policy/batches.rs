//! The loop guard counts refusals that the model could read: once in a message, and none that were made by hand.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, TEAM, busy, pairs, verdicts};
use crate::support::sandbox::{CommandResult, Sandbox};

fn transcript(sandbox: &Sandbox) -> String {
    sandbox.client(&format!("projects/p/{SESSION}.jsonl")).display().to_string()
}

/// The client writes a message with these tool calls.
fn says(sandbox: &Sandbox, message: &str, calls: &[&str]) {
    let path = transcript(sandbox);
    let mut text = std::fs::read_to_string(&path).unwrap_or_default();
    for id in calls {
        let block = json!({"type": "tool_use", "id": id, "name": "SendMessage", "input": {}});
        let record = json!({"type": "assistant", "message": {"id": message, "content": [block]}});
        text.push_str(&format!("{record}\n"));
    }
    std::fs::create_dir_all(sandbox.client("projects/p")).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Somebody asks for bob's shutdown.
fn request(sandbox: &Sandbox, id: Option<&str>, transcript: Option<&str>) -> Value {
    json!({"session_id": SESSION, "cwd": sandbox.home().join("parser"), "hook_event_name": "PreToolUse", "tool_name": "SendMessage",
        "tool_use_id": id, "transcript_path": transcript, "tool_input": {"to": "bob", "message": {"type": "shutdown_request"}}})
}

fn ask(sandbox: &Sandbox, id: &str) -> CommandResult {
    let path = transcript(sandbox);
    sandbox.feed("", request(sandbox, Some(id), Some(&path)).to_string().as_bytes(), &[])
}

#[test]
fn the_calls_of_one_message_are_blocked_together_and_count_once() {
    let sandbox = busy("");
    says(&sandbox, "m1", &["a", "b", "c", "d", "e"]);
    let codes: Vec<_> = ["a", "b", "c", "d", "e"].map(|id| ask(&sandbox, id).code).into();
    assert_eq!(codes, [Some(2); 5], "no answer was read yet");
    says(&sandbox, "m2", &["f", "g"]);
    says(&sandbox, "m3", &["h"]);
    assert_eq!(["f", "g", "h"].map(|id| ask(&sandbox, id).code), [Some(2); 3]);
    says(&sandbox, "m4", &["i", "j"]);
    let result = ["i", "j"].map(|id| ask(&sandbox, id));
    assert_eq!([result[0].code, result[1].code], [Some(0); 2], "{result:?}");
    assert!(result[0].out.contains("allowed this action after 3 blocks"), "{result:?}");
    let log = sandbox.log();
    let counts = log.iter().filter(|line| line["verdict"]["escalated"] == true);
    assert!(counts.map(|line| &line["verdict"]["blocks"]).all(|blocks| *blocks == 3));
    let replay = sandbox.replay(TEAM);
    let told: Vec<&Value> = replay.iter().filter_map(|entry| entry.get("blocks")).collect();
    assert_eq!(told, [&json!(3), &json!(3)]);
}

#[test]
fn forged_calls_are_blocked_and_do_not_count() {
    let sandbox = busy("");
    says(&sandbox, "m1", &["a"]);
    assert_eq!(ask(&sandbox, "a").code, Some(2));
    let path = transcript(&sandbox);
    for (id, named) in [
        (Some("x"), Some(path.as_str())),
        (Some("y"), None),
        (None, Some(&path)),
        (None, None),
        (None, Some("/none")),
    ] {
        let by_hand = request(&sandbox, id, named).to_string();
        assert_eq!(sandbox.feed("", by_hand.as_bytes(), &[]).code, Some(2), "{id:?} {named:?}");
    }
    for (message, code) in [("b", 2), ("c", 2), ("d", 0)] {
        says(&sandbox, message, &[message]);
        assert_eq!(ask(&sandbox, message).code, Some(code), "{message}");
    }
    sandbox.set_clock(3_600_000);
    assert_eq!(
        ask(&sandbox, "z").code,
        Some(0),
        "a client that stopped writing transcripts comes to an end as well"
    );
}

#[test]
fn sixteen_concurrent_requests_are_all_blocked() {
    for shown in [true, false] {
        let sandbox = busy("");
        let ids: Vec<String> = (0..16).map(|number| format!("u{number}")).collect();
        if shown {
            says(&sandbox, "m1", &ids.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let result: Vec<CommandResult> = std::thread::scope(|scope| {
            let calls: Vec<_> = ids
                .iter()
                .map(|id| {
                    let (path, now) = (transcript(&sandbox), crate::support::sandbox::START);
                    let payload = request(&sandbox, Some(id), Some(&path)).to_string();
                    let mut command = sandbox.command(&["hook"]);
                    command.env("TEAMKEEP_NOW", now);
                    scope.spawn(move || crate::support::sandbox::feed(&mut command, payload.as_bytes()))
                })
                .collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        let through: Vec<&CommandResult> = result.iter().filter(|result| result.code != Some(2)).collect();
        assert!(through.is_empty(), "shown: {shown}: {through:?}\n{}", sandbox.diagnostics());
    }
}

#[test]
fn a_block_stays_a_block_while_other_calls_are_counted_but_not_forever() {
    let sandbox = busy("[log]\nlock-patience = \"20ms\"\n");
    says(&sandbox, "m1", &["a", "b", "c"]);
    assert_eq!(ask(&sandbox, "a").code, Some(2));
    let lock = sandbox.run_log().dir().join("gates.lock");
    let lock = std::fs::File::options().write(true).open(lock).unwrap();
    lock.lock().unwrap();
    assert_eq!(ask(&sandbox, "b").code, Some(2), "another call took it a moment ago");
    lock.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let result = ask(&sandbox, "c");
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.out.contains("cannot count its blocks"), "{result:?}");
    let decisions = verdicts(&sandbox);
    let busy = "shutdown-of-busy-teammate";
    assert_eq!(
        pairs(&decisions),
        [(busy, "block"), (busy, "block"), (busy, "warn"), ("policy-failed", "allow")]
    );
}

#[test]
fn overrides_behind_a_link_or_in_a_directory_disable_no_gate() {
    for link in [false, true] {
        let sandbox = busy("");
        let (path, other) = (sandbox.keep("overrides.json"), sandbox.home().join("other.json"));
        let pause = json!({"v": 1, "pauses": [{"gate": null, "team": null, "until": "2026-02-03T05:00:00Z"}], "shutdowns": []});
        std::fs::write(&other, pause.to_string()).unwrap();
        std::fs::create_dir_all(sandbox.keep("")).unwrap();
        match link {
            true => std::os::unix::fs::symlink(&other, &path).unwrap(),
            false => std::fs::create_dir(&path).unwrap(),
        }
        says(&sandbox, "m1", &["a"]);
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
    let log = sandbox.told(&["log", "--raw"]);
    assert!(log.contains("pause every gate until 2026-02-03 05:00:00 UTC (found in the file)"), "{log}");
    for args in [["resume"].as_slice(), &["pause", "15m"]] {
        assert_eq!(sandbox.run(args).code, Some(0));
    }
    assert_eq!(ask(&sandbox, "d").code, Some(0));
    let commands = found().into_iter().filter(|payload| payload.get("found").is_none());
    assert_eq!((commands.count(), found().len()), (2, 4), "what a command writes is on record by that");
}
