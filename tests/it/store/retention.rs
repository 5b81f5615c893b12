//! The logs of sessions are kept to their bounds, and every run is reported as before: its events go only with it.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use teamkeep_store::log::Appending;

use super::run_sandbox::{Client, led};
use crate::hook::concurrency::Dice;
use crate::support::access::set_time;
use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, below, feed, lines};

const DAY: i64 = 86_400_000;
/// Nothing is removed.
pub const ROOMY: &str = "[log]\nlock-patience = \"5m\"\nsegment-size = \"4 KiB\"\n";
/// Everything that may go goes.
const TIGHT: &str = "[log]\nlock-patience = \"5m\"\nsegment-size = \"4 KiB\"\nkeep-size = \"1 B\"\n";

fn session(number: u32) -> String {
    format!("{number:08}-0000-4000-8000-000000000001")
}

/// A team that has done a little: messages, tasks, turns. Its session began before it.
pub fn act<'a>(sandbox: &'a Sandbox, number: u32) -> Lead<'a> {
    let lead = Lead::of(sandbox, &session(number));
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": format!("go {number}")}));
    lead.roster(1_770_000_000_000 + i64::from(number), &["alice"]);
    for turn in 0..6 {
        let message = json!({"to": "alice", "message": format!("{number} says {turn}"), "summary": "work"});
        let response = json!({"success": true, "routing": {"sender": "team-lead", "target": "@alice"}});
        lead.tool(&format!("toolu_{turn}"), "SendMessage", &message, response);
        lead.task("1", if turn < 4 { "in_progress" } else { "completed" }, Some("alice"));
        let who = json!({"agent_id": "aalice-1", "agent_type": "alice"});
        lead.hook("SubagentStart", who.clone());
        lead.hook("SubagentStop", who);
        lead.hook("TeammateIdle", json!({"teammate_name": "alice", "team_name": lead.team}));
    }
    lead
}

pub fn end(sandbox: &Sandbox, lead: &Lead<'_>) {
    lead.erase();
    sandbox.remove_dir(&format!("tasks/{}", lead.team));
    lead.end("other");
    sandbox.finish();
}

/// Three runs of three days, and a session without one; it is the day after.
fn three() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure(ROOMY);
    for number in 1..4 {
        sandbox.set_clock(i64::from(number) * DAY);
        let lead = act(&sandbox, number);
        end(&sandbox, &lead);
    }
    Lead::of(&sandbox, &session(9)).hook("UserPromptSubmit", json!({"prompt": "no team"}));
    sandbox.set_clock(5 * DAY);
    Lead::of(&sandbox, &session(9)).hook("UserPromptSubmit", json!({"prompt": "no team"}));
    sandbox
}

/// The outputs of the commands for each recorded run.
pub fn outputs(sandbox: &Sandbox) -> Vec<(String, String, String, Value)> {
    let teams = sandbox.teams();
    let runs = teams.iter().map(|team| {
        let run = team["run"].as_str().unwrap();
        let report = sandbox.printed(&["report", run, "--format", "json"]);
        let bundle = sandbox.keep("../bundle.tgz");
        sandbox.run(&["export", run, "-o", bundle.to_str().unwrap(), "--force"]);
        let bundle = blake3::hash(&std::fs::read(bundle).unwrap()).to_string();
        (report, sandbox.printed(&["log", run, "--json"]), bundle, team.clone())
    });
    runs.collect()
}

/// The sessions that have a log.
fn sessions(sandbox: &Sandbox) -> Vec<String> {
    let logs = sandbox.logs().of_sessions().unwrap();
    logs.iter().map(|log| log.dir().file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The ids of all events that `log` prints: none twice.
fn ids(sandbox: &Sandbox) -> BTreeSet<String> {
    let events = lines(&sandbox.printed(&["log", "--raw", "--json"]));
    let ids: BTreeSet<String> = events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), events.len(), "each event once");
    ids
}

/// The ids of events that belong to a run.
fn needed(sandbox: &Sandbox) -> BTreeSet<String> {
    let events = sandbox.log();
    let own = events.iter().filter(|event| event["session"] != json!(session(9)));
    own.map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

/// Keeps the log to its bounds, as the process that a hook starts does.
fn retain(sandbox: &Sandbox) {
    let result = sandbox.run(&["finish"]);
    assert_eq!(result.code, Some(0), "{}", sandbox.diagnostics());
}

#[test]
fn every_run_is_shown_as_before_and_only_sessions_without_one_are_removed() {
    let sandbox = three();
    let (before, own) = (outputs(&sandbox), needed(&sandbox));
    sandbox.configure(TIGHT);
    retain(&sandbox);
    assert!(sessions(&sandbox).contains(&session(9)), "it may continue");
    sandbox.age_session_logs(1);
    retain(&sandbox);
    assert_eq!(outputs(&sandbox), before);
    assert_eq!(ids(&sandbox), own);
    assert_eq!(sessions(&sandbox), [session(1), session(2), session(3)], "their first lines belong to runs");
    sandbox.printed(&["verify"]);
    retain(&sandbox);
    assert_eq!((outputs(&sandbox), ids(&sandbox)), (before, own), "a second time changes nothing");
}

#[test]
fn a_session_is_kept_for_so_long_after_its_last_line() {
    let sandbox = three();
    sandbox.configure("[log]\nlock-patience = \"5m\"\nkeep = \"30d\"\n");
    for (age, is_kept) in [(0, true), (29, true), (31, false)] {
        sandbox.age_session_logs(age);
        retain(&sandbox);
        assert_eq!(sessions(&sandbox).contains(&session(9)), is_kept, "{age} days");
    }
    assert_eq!(sessions(&sandbox).len(), 3);
}

#[test]
fn a_reopened_run_has_all_its_events() {
    let sandbox = Sandbox::new();
    sandbox.configure(TIGHT);
    let client = Client::start();
    let lead = led(&sandbox, &client);
    lead.hook("UserPromptSubmit", json!({"prompt": "one ".repeat(2_000)}));
    lead.end("other");
    drop(client);
    sandbox.finish();
    let names = || -> Vec<bool> {
        sandbox.run_log().segments().unwrap().iter().map(|segment| segment.is_packed).collect()
    };
    assert_eq!(names(), [false, true, false], "a segment of a block is not compressed");
    lead.hook("UserPromptSubmit", json!({"prompt": "two"}));
    let prompts = |sandbox: &Sandbox| -> Vec<String> {
        let entries = sandbox.replay(&lead.team);
        let own = entries.iter().filter(|entry| entry["kind"] == "turn-started");
        own.map(|entry| entry["text"].as_str().unwrap()[..3].to_owned()).collect()
    };
    let events = ids(&sandbox).len();
    assert_eq!((prompts(&sandbox), events), (vec!["one".to_owned(), "two".to_owned()], 4));
    lead.end("other");
    sandbox.finish();
    assert_eq!(prompts(&sandbox), ["one", "two"]);
    sandbox.printed(&["verify"]);
    assert_eq!(ids(&sandbox).len(), events + 1);
}

#[test]
fn a_session_that_floods_its_log_loses_its_oldest_lines_and_removes_no_others() {
    let sandbox = three();
    sandbox.configure(&TIGHT.replace("4 KiB", "40 KiB").replace("1 B\"", "100 KiB\""));
    let quiet = Lead::of(&sandbox, &session(8));
    quiet.hook("UserPromptSubmit", json!({"prompt": "quiet ".repeat(900)}));
    let before = outputs(&sandbox);
    for _ in 0..8 {
        Lead::of(&sandbox, &session(9)).hook("UserPromptSubmit", json!({"prompt": "x".repeat(30_000)}));
        quiet.hook("UserPromptSubmit", json!({"prompt": "between"}));
    }
    let (all, own) = (ids(&sandbox), needed(&sandbox));
    retain(&sandbox);
    let logs = sandbox.logs().of_sessions().unwrap();
    let sizes = logs.iter().flat_map(|log| log.segments().unwrap()).map(|segment| segment.size);
    assert!(sizes.sum::<u64>() <= 120 << 10);
    assert_eq!(outputs(&sandbox), before);
    let left = ids(&sandbox);
    assert!(left.is_superset(&own), "no other session and no run loses anything");
    assert!(left.len() < all.len(), "and that one loses its oldest");
    sandbox.printed(&["verify"]);
}

#[test]
fn a_pruned_run_goes_with_its_events() {
    let sandbox = three();
    sandbox.configure(&format!("{TIGHT}[archive]\nlongest-look = \"10ms\"\n"));
    let before: Vec<_> = outputs(&sandbox).split_off(2);
    sandbox.age_session_logs(1);
    let result = sandbox.run(&["prune", "--keep", "1", "--yes"]);
    assert_eq!(result.code, Some(0), "{}{}", result.out, result.err);
    assert!(result.out.contains("deleted 2 runs, "), "{}", result.out);
    assert_eq!(outputs(&sandbox), before);
    sandbox.printed(&["verify"]);
    let left: BTreeSet<String> =
        sandbox.log().iter().map(|event| event["session"].as_str().unwrap().to_owned()).collect();
    assert_eq!(left, [session(3)].into());
    assert_eq!(sessions(&sandbox), [session(3)]);
}

#[test]
fn a_process_that_is_killed_while_it_ends_a_run_loses_nothing() {
    for round in 0..12u64 {
        let sandbox = Sandbox::new();
        sandbox.configure(ROOMY);
        let lead = act(&sandbox, 1);
        lead.erase();
        lead.end("other");
        let before = ids(&sandbox);
        let mut finish = sandbox.command(&["finish"]);
        let mut finish =
            finish.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(1_500 * round));
        let _ = finish.kill();
        finish.wait().unwrap();
        assert_eq!(ids(&sandbox), before, "round {round}");
        sandbox.printed(&["verify"]);
        retain(&sandbox);
        sandbox.finish();
        assert_eq!(ids(&sandbox), before, "round {round}");
        sandbox.printed(&["verify"]);
    }
}

/// The processes that write at the same time.
const WRITERS: u32 = 16;

#[test]
fn writers_that_are_killed_and_a_log_that_is_kept_small_lose_and_double_nothing() {
    let sandbox = Sandbox::new();
    sandbox.configure(&TIGHT.replace("4 KiB", "16 KiB").replace("1 B\"", "32 KiB\""));
    let written: BTreeSet<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=WRITERS)
            .map(|worker| {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let lead = Lead::of(sandbox, &session(worker));
                    let hook = |event: &str, fields: Value| {
                        let payload = lead.payload(event, fields).to_string();
                        feed(&mut sandbox.command(&["hook", event]), payload.as_bytes())
                    };
                    lead.roster(1_770_000_000_000 + i64::from(worker), &["alice"]);
                    let start = Instant::now();
                    hook("session-start", json!({"source": "startup"}));
                    // How long a call takes on this machine.
                    let mut usual = start.elapsed();
                    let mut dice = Dice(worker.into());
                    let mut written = Vec::new();
                    for number in 0..30 {
                        let mark = format!("{worker}-{number}");
                        let fields = json!({"prompt": mark, "filler": "x".repeat(1_000)});
                        if number % 5 == 4 {
                            let payload = lead.payload("UserPromptSubmit", fields).to_string();
                            let mut command = sandbox.command(&["hook", "user-prompt-submit"]);
                            let mut child =
                                command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
                            let mut input = child.stdin.take().unwrap();
                            let _ = std::io::Write::write_all(&mut input, payload.as_bytes());
                            drop(input);
                            // At any moment of a call, also after its end.
                            std::thread::sleep(usual * dice.roll(110) as u32 / 100);
                            let _ = child.kill();
                            if child.wait().unwrap().success() {
                                written.push(mark);
                            }
                            continue;
                        }
                        let start = Instant::now();
                        assert_eq!(hook("user-prompt-submit", fields).code, Some(0));
                        usual = start.elapsed();
                        written.push(mark);
                    }
                    if worker % 2 == 0 {
                        lead.erase();
                        hook("session-end", json!({"reason": "other"}));
                    }
                    written
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    sandbox.finish();
    let prompts = |sandbox: &Sandbox| -> BTreeSet<String> {
        let result = sandbox.run(&["log", "--raw", "--json", "--event", "UserPromptSubmit"]);
        let all: Vec<String> = lines(&result.out)
            .iter()
            .map(|event| event["payload"]["prompt"].as_str().unwrap().to_owned())
            .collect();
        let once: BTreeSet<String> = all.iter().cloned().collect();
        assert_eq!(once.len(), all.len(), "none twice");
        once
    };
    assert!(prompts(&sandbox).is_superset(&written));
    let reports = |sandbox: &Sandbox| -> Vec<Value> {
        let list = sandbox.run(&["list", "--all", "--json"]);
        // A writer can be killed in the middle of its line.
        assert!(list.err.lines().all(|line| line.contains(": cut off: ")), "{}", list.err);
        let runs: Vec<Value> = serde_json::from_str(&list.out).unwrap();
        let report = |run: &Value| {
            let result = sandbox.run(&["report", run["run"].as_str().unwrap(), "--format", "json"]);
            serde_json::from_str(&result.out).unwrap()
        };
        runs.iter().map(report).collect()
    };
    sandbox.set_clock(3 * DAY);
    let before = reports(&sandbox);
    assert_eq!(before.len(), WRITERS as usize);
    Lead::of(&sandbox, &session(99)).hook("Stop", json!({}));
    sandbox.run(&["finish"]);
    assert!(prompts(&sandbox).is_superset(&written));
    // A team that has not ended has a duration until now.
    sandbox.set_clock(3 * DAY);
    assert_eq!(reports(&sandbox), before);
    sandbox.printed(&["verify"]);
}

#[test]
fn what_retention_leaves_when_it_is_killed_is_no_finding_and_is_removed_by_the_next() {
    let sandbox = three();
    sandbox.configure(TIGHT);
    let dir = sandbox.keep(&format!("sessions/{}", session(9)));
    // The process was killed after the last segment, and before the directory.
    for path in below(&dir) {
        if path.extension().is_some_and(|kind| kind == "jsonl") {
            std::fs::remove_file(path).unwrap();
        }
    }
    assert!(dir.join("events.lock").exists());
    sandbox.printed(&["verify"]);
    retain(&sandbox);
    assert!(!dir.exists());
}

#[test]
fn a_call_that_is_late_for_a_pruned_run_brings_no_run_back() {
    let sandbox = Sandbox::new();
    sandbox.configure(&format!("{ROOMY}[archive]\nlongest-look = \"10ms\"\n"));
    let lead = act(&sandbox, 1);
    end(&sandbox, &lead);
    let log = sandbox.run_log();
    assert_eq!(sandbox.run(&["prune", "--keep", "0", "--yes"]).code, Some(0));
    std::fs::create_dir_all(log.dir()).unwrap();
    let line = br#"{"v":1,"at":"2026-02-03T04:05:06.000Z","id":"01kggtstag400m0psfjexqaba8","event":"Stop","session":"s","payload":{}}"#;
    let how = Appending { segment_size: 4_096, patience: Duration::from_secs(60), durable: false };
    log.append(line, teamkeep_model::time::parse("2026-02-03T04:05:06Z").unwrap(), how).unwrap();
    assert!(sandbox.teams().is_empty());
    sandbox.printed(&["verify"]);
    set_time(log.dir(), std::time::UNIX_EPOCH);
    sandbox.printed(&["prune", "--yes"]);
    assert!(!log.dir().exists());
}
