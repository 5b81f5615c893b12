//! The log is kept to its bounds, and every run is reported as before: its events are closed into it first.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::play::Lead;
use super::runs_stage::{Client, led};
use super::stage::{Stage, feed, lines};

const DAY: i64 = 86_400_000;
/// Nothing is removed.
const ROOMY: &str = "[log]\nlock-patience = \"5m\"\nsegment-size = \"4 KiB\"\n";
/// Everything that may go goes.
const TIGHT: &str = "[log]\nlock-patience = \"5m\"\nsegment-size = \"4 KiB\"\nkeep-size = \"1 B\"\n";

fn session(number: u32) -> String {
    format!("{number:08}-0000-4000-8000-000000000001")
}

/// A team that has done a little: messages, tasks, turns. Its session began before it.
fn act<'a>(stage: &'a Stage, number: u32) -> Lead<'a> {
    let lead = Lead::of(stage, &session(number));
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

fn end(stage: &Stage, lead: &Lead<'_>) {
    lead.erase();
    stage.remove_dir(&format!("tasks/{}", lead.team));
    lead.end("other");
    stage.finish();
}

/// Three runs of three days, and a session without one; it is the day after.
fn three() -> Stage {
    let stage = Stage::new();
    stage.configure(ROOMY);
    for number in 1..4 {
        stage.set_clock(i64::from(number) * DAY);
        let lead = act(&stage, number);
        end(&stage, &lead);
    }
    Lead::of(&stage, &session(9)).hook("UserPromptSubmit", json!({"prompt": "no team"}));
    stage.set_clock(5 * DAY);
    Lead::of(&stage, &session(9)).hook("UserPromptSubmit", json!({"prompt": "no team"}));
    stage
}

/// What the commands say of every run that is on record.
fn told(stage: &Stage) -> Vec<(String, String, String, Value)> {
    let teams = stage.teams();
    let runs = teams.iter().map(|team| {
        let run = team["run"].as_str().unwrap();
        let report = stage.told(&["report", run, "--format", "json"]);
        let bundle = stage.keep("../bundle.tgz");
        stage.run(&["export", run, "-o", bundle.to_str().unwrap(), "--force"]);
        let bundle = blake3::hash(&std::fs::read(bundle).unwrap()).to_string();
        (report, stage.told(&["replay", run, "--json"]), bundle, team.clone())
    });
    runs.collect()
}

fn segments(stage: &Stage) -> usize {
    teamkeep::log::list(&stage.keep("log")).unwrap().len()
}

/// The ids of all events that `log` prints: none twice.
fn ids(stage: &Stage) -> BTreeSet<String> {
    let events = lines(&stage.told(&["log", "--json"]));
    let ids: BTreeSet<String> = events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), events.len(), "each event once");
    ids
}

/// The ids of events that belong to a run.
fn needed(stage: &Stage) -> BTreeSet<String> {
    let events = stage.log();
    let own = events.iter().filter(|event| event["session"] != json!(session(9)));
    own.map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

fn parts(stage: &Stage) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(stage.keep("archive/runs")).unwrap().flatten();
    runs.flat_map(|run| teamkeep::log::parts_in(&run.path()).into_values()).collect()
}

/// Keeps the log to its bounds, as the process that a hook starts does.
fn retain(stage: &Stage) {
    let said = stage.run(&["finish"]);
    assert_eq!(said.code, Some(0), "{}", stage.diagnostics());
}

#[test]
fn every_run_is_told_as_before_when_the_log_has_forgotten_it() {
    let stage = three();
    let (before, all, own) = (told(&stage), ids(&stage), needed(&stage));
    let had = segments(&stage);
    assert!(had > 6, "{had}");
    stage.configure(TIGHT);
    retain(&stage);
    assert_eq!(segments(&stage), 1, "the one that is written to");
    assert_eq!(told(&stage), before);
    let left = ids(&stage);
    assert!(left.is_superset(&own) && left.is_subset(&all), "what belongs to no run may go");
    assert!(left.len() < all.len());
    let said = stage.run(&["verify"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    retain(&stage);
    assert_eq!((told(&stage), ids(&stage)), (before, left), "once more changes nothing");
    let hash = |paths: Vec<PathBuf>| -> Vec<_> {
        paths.into_iter().map(|path| (std::fs::metadata(&path).unwrap().modified().unwrap(), path)).collect()
    };
    let parts_before = hash(parts(&stage));
    retain(&stage);
    assert_eq!(hash(parts(&stage)), parts_before, "what is closed is not written again");
}

#[test]
fn events_are_in_the_run_when_it_has_ended_though_the_log_is_lost() {
    let stage = Stage::new();
    stage.configure(ROOMY);
    let lead = act(&stage, 1);
    end(&stage, &lead);
    let before = told(&stage);
    std::fs::remove_dir_all(stage.keep("log")).unwrap();
    let after = told(&stage);
    // The last line may come after the run was closed.
    assert_eq!(after.len(), 1);
    let events =
        |told: &str| serde_json::from_str::<Value>(told).unwrap()["overview"]["count"]["events"].clone();
    assert_eq!(events(&after[0].0), events(&before[0].0));
    assert_eq!(after, before);
}

#[test]
fn a_run_that_has_not_ended_keeps_its_segments_and_that_is_told() {
    let stage = Stage::new();
    stage.configure(ROOMY);
    let lead = act(&stage, 1);
    stage.set_clock(200 * DAY);
    let other = act(&stage, 2);
    end(&stage, &other);
    let (before, all) = (told(&stage), ids(&stage));
    stage.configure(TIGHT);
    assert_eq!(stage.run(&["finish"]).code, Some(1));
    assert!(segments(&stage) > 3);
    assert_eq!((told(&stage), ids(&stage)), (before, all));
    let noted = stage.diagnostics();
    assert!(noted.contains("more than log.keep-size (1 MiB)") && noted.contains("have not ended"), "{noted}");
    end(&stage, &lead);
    let before = told(&stage);
    stage.set_clock(201 * DAY);
    Lead::of(&stage, &session(9)).hook("Stop", json!({}));
    retain(&stage);
    assert_eq!(segments(&stage), 1);
    assert_eq!(told(&stage), before);
}

#[test]
fn a_run_that_is_opened_again_has_all_its_events() {
    let stage = Stage::new();
    stage.configure(TIGHT);
    let client = Client::start();
    let lead = led(&stage, &client);
    lead.hook("UserPromptSubmit", json!({"prompt": "one ".repeat(2_000)}));
    lead.end("other");
    stage.finish();
    stage.set_clock(2 * DAY);
    Lead::of(&stage, &session(9)).hook("Stop", json!({}));
    retain(&stage);
    assert_eq!(segments(&stage), 1);
    lead.hook("UserPromptSubmit", json!({"prompt": "two"}));
    let prompts = |stage: &Stage| -> Vec<String> {
        let entries = stage.replay(&lead.team);
        let own = entries.iter().filter(|entry| entry["kind"] == "prompt");
        own.map(|entry| entry["text"].as_str().unwrap()[..3].to_owned()).collect()
    };
    let events = ids(&stage).len();
    assert_eq!(events, 5);
    let before = prompts(&stage);
    lead.end("other");
    stage.finish();
    stage.set_clock(4 * DAY);
    Lead::of(&stage, &session(9)).hook("Stop", json!({}));
    retain(&stage);
    assert_eq!(prompts(&stage), before);
    // The line of the session without a run has gone with its segment.
    assert_eq!(ids(&stage).len(), events + 1);
}

#[test]
fn a_session_that_floods_the_log_takes_nothing_from_others() {
    let stage = three();
    let large = TIGHT.replace("4 KiB", "40 KiB");
    stage.configure(&large.replace("1 B\"", "100 KiB\""));
    let quiet = Lead::of(&stage, &session(8));
    quiet.hook("UserPromptSubmit", json!({"prompt": "quiet ".repeat(900)}));
    let before = told(&stage);
    for _ in 0..8 {
        Lead::of(&stage, &session(9)).hook("UserPromptSubmit", json!({"prompt": "x".repeat(30_000)}));
        quiet.hook("UserPromptSubmit", json!({"prompt": "between"}));
    }
    let (all, own) = (ids(&stage), needed(&stage));
    retain(&stage);
    assert!(teamkeep::log::size(&stage.keep("log")) <= 100 << 10);
    assert_eq!(told(&stage), before);
    let left = ids(&stage);
    assert!(left.is_superset(&own), "a session without a run loses nothing to another");
    assert!(left.len() < all.len(), "and that one loses its oldest");
}

#[test]
fn what_a_prune_removes_of_the_log_is_closed_into_the_runs_that_stay() {
    let stage = three();
    stage.configure(&format!("{TIGHT}[archive]\nlongest-look = \"10ms\"\n"));
    let before: Vec<_> = told(&stage).split_off(2);
    let said = stage.run(&["prune", "--keep", "1", "--yes"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!(segments(&stage), 1);
    assert_eq!(told(&stage), before);
    let sessions: BTreeSet<String> =
        stage.log().iter().map(|event| event["session"].as_str().unwrap().to_owned()).collect();
    assert_eq!(sessions, [session(3), session(9)].into(), "a run goes as a whole");
}

#[test]
fn whoever_is_stopped_while_events_are_closed_has_lost_nothing() {
    let stage = three();
    let (before, own) = (told(&stage), needed(&stage));
    stage.configure(TIGHT);
    for round in 0..12u64 {
        let mut finish = stage.command(&["finish"]);
        let mut finish =
            finish.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(1_500 * round));
        let _ = finish.kill();
        finish.wait().unwrap();
        assert!(ids(&stage).is_superset(&own), "round {round}");
        if round % 4 == 3 {
            assert_eq!(told(&stage), before, "round {round}");
        }
    }
    retain(&stage);
    assert_eq!((segments(&stage), told(&stage)), (1, before));
}

#[test]
fn a_part_that_is_damaged_or_cut_is_made_again_while_its_segment_is_there() {
    let stage = three();
    let before = told(&stage);
    for path in parts(&stage) {
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    }
    assert_eq!(told(&stage), before, "the segments are read");
    let said = stage.run(&["verify"]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    stage.configure(TIGHT);
    retain(&stage);
    assert_eq!((segments(&stage), told(&stage)), (1, before));
    assert_eq!(stage.run(&["verify"]).code, Some(0));
}

#[test]
fn a_run_whose_early_events_are_gone_says_so_and_invents_nothing() {
    let stage = Stage::new();
    stage.configure(ROOMY);
    let lead = act(&stage, 1);
    end(&stage, &lead);
    let whole = stage.told(&["report", "--format", "json"]);
    assert!(!whole.contains("events-missing") && stage.teams()[0].get("events_missing_until").is_none());
    // As versions did that knew nothing of runs.
    parts(&stage).iter().for_each(|part| std::fs::remove_file(part).unwrap());
    let log = stage.keep("log");
    let first = teamkeep::log::list(&log).unwrap().swap_remove(0);
    std::fs::remove_file(first.path(&log)).unwrap();
    let until = stage.log()[0]["at"].clone();
    assert_eq!(stage.teams()[0]["events_missing_until"], until);
    let report: Value = serde_json::from_str(&stage.told(&["report", "--format", "json"])).unwrap();
    let codes: Vec<&str> =
        report["findings"].as_array().unwrap().iter().filter_map(|it| it["code"].as_str()).collect();
    assert!(codes.contains(&"events-missing") && !codes.contains(&"never-reported"), "{codes:?}");
    for args in [&["replay"][..], &["teams"], &["report"]] {
        let said = stage.told(args);
        assert!(said.contains("missing"), "{args:?}: {said}");
    }
    std::fs::remove_dir_all(&log).unwrap();
    let ended = stage.teams()[0]["ended_at"].clone();
    assert_eq!(stage.teams()[0]["events_missing_until"], ended);
    let report: Value = serde_json::from_str(&stage.told(&["report", "--format", "json"])).unwrap();
    let delivered = report["mail"]["messages"].as_array().unwrap().iter().map(|one| one["delivered"].clone());
    assert!(delivered.into_iter().all(|one| one != json!(false)));
}

#[test]
fn a_run_that_was_found_before_its_session_began_misses_no_events() {
    let stage = Stage::new();
    stage.configure(ROOMY);
    let lead = act(&stage, 1);
    end(&stage, &lead);
    let path = stage.keep(&format!("archive/runs/{}/run.json", stage.library().runs[0].run));
    let mut run: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    // As if a hook call of another session had looked at the team first.
    run["started_at"] = json!("2026-01-01T00:00:00.000Z");
    std::fs::write(&path, run.to_string()).unwrap();
    assert!(stage.teams()[0].get("events_missing_until").is_none());
    assert!(!stage.told(&["report", "--format", "json"]).contains("events-missing"));
}

#[test]
fn writers_that_are_killed_and_a_log_that_is_kept_small_lose_and_double_nothing() {
    let stage = Stage::new();
    stage.configure(&TIGHT.replace("4 KiB", "16 KiB").replace("1 B\"", "32 KiB\""));
    let written: BTreeSet<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..9u32)
            .map(|worker| {
                let stage = &stage;
                scope.spawn(move || {
                    let lead = Lead::of(stage, &session(worker));
                    let hook = |event: &str, fields: Value| {
                        let payload = lead.payload(event, fields).to_string();
                        feed(&mut stage.command(&["hook", event]), payload.as_bytes())
                    };
                    lead.roster(1_770_000_000_000 + i64::from(worker), &["alice"]);
                    hook("session-start", json!({"source": "startup"}));
                    let mut written = Vec::new();
                    for number in 0..30 {
                        let mark = format!("{worker}-{number}");
                        let fields = json!({"prompt": mark, "filler": "x".repeat(1_000)});
                        if number % 5 == 4 {
                            let payload = lead.payload("UserPromptSubmit", fields).to_string();
                            let mut command = stage.command(&["hook", "user-prompt-submit"]);
                            let mut child =
                                command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
                            let mut input = child.stdin.take().unwrap();
                            let _ = std::io::Write::write_all(&mut input, payload.as_bytes());
                            drop(input);
                            std::thread::sleep(Duration::from_micros(u64::from(worker) * 400));
                            let _ = child.kill();
                            if child.wait().unwrap().success() {
                                written.push(mark);
                            }
                            continue;
                        }
                        assert_eq!(hook("user-prompt-submit", fields).code, Some(0));
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
    stage.finish();
    let prompts = |stage: &Stage| -> BTreeSet<String> {
        let said = stage.run(&["log", "--json", "--event", "UserPromptSubmit"]);
        let all: Vec<String> = lines(&said.out)
            .iter()
            .map(|event| event["payload"]["prompt"].as_str().unwrap().to_owned())
            .collect();
        let once: BTreeSet<String> = all.iter().cloned().collect();
        assert_eq!(once.len(), all.len(), "none twice");
        once
    };
    assert!(prompts(&stage).is_superset(&written));
    let reports = |stage: &Stage| -> Vec<Value> {
        let runs = stage.teams();
        let report = |run: &Value| {
            let said = stage.run(&["report", run["run"].as_str().unwrap(), "--format", "json"]);
            serde_json::from_str(&said.out).unwrap()
        };
        runs.iter().map(report).collect()
    };
    let before = reports(&stage);
    assert_eq!(before.len(), 8);
    stage.set_clock(3 * DAY);
    Lead::of(&stage, &session(9)).hook("Stop", json!({}));
    stage.run(&["finish"]);
    assert!(prompts(&stage).is_superset(&written));
    assert_eq!(reports(&stage), before);
}
