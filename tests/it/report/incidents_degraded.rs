//! The incidents of recorded runs that were altered: slower, cut off, with hook calls missing, and with a `/clear`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::incidents::lost_by_truth;
use crate::history::traces::{ALL, GC, NOTASKS, PANES, V47, V177, V328};
use crate::support::altered::{cleared, cut, slowed, without};
use crate::support::reenact::Trace;
use crate::support::sandbox::Sandbox;

/// An incident: its kind, its first agent and its tasks.
type Found = (String, String, Vec<String>);

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The incidents of a run that was altered.
fn incidents(trace: &Trace) -> Vec<Value> {
    let sandbox = Sandbox::new();
    trace.play(&sandbox, 1);
    sandbox.finish();
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let entries = sandbox.replay("latest");
    let incidents = report["incidents"].as_array().unwrap();
    for id in incidents.iter().flat_map(|one| one["evidence"].as_array().unwrap()) {
        assert!(entries.iter().any(|entry| entry["id"] == *id), "{id} is not in the timeline");
    }
    incidents.clone()
}

fn found(trace: &Trace) -> Vec<Found> {
    incidents(trace).iter().map(brief).collect()
}

fn brief(one: &Value) -> Found {
    let tasks = one["tasks"].as_array().unwrap().iter().map(text);
    (text(&one["kind"]), text(&one["agents"][0]), tasks.collect())
}

/// The incidents of the tasks that the truth has as lost.
fn lost(trace: &Trace) -> Vec<Found> {
    let lost = lost_by_truth(&trace.truth).into_iter();
    lost.map(|(agent, task)| ("lost-work".to_owned(), agent, vec![task])).collect()
}

#[test]
fn slow_run_has_one_stall_of_the_agent_that_stopped_halfway() {
    let stall = || ("stalled-agent".to_owned(), "bob".to_owned(), vec!["2".to_owned()]);
    // The lead of 2.1.177 read its teammates' messages only when the user prompted it again.
    let late = || ("unread-message".to_owned(), "team-lead".to_owned(), Vec::new());
    for run in ALL {
        let trace = slowed(run, 60);
        let expected = match run {
            // In the last one, the lead completed the task after bob's pause.
            V47 | V328 | PANES | GC => vec![stall()],
            V177 => vec![stall(), late()],
            _ => Vec::new(),
        };
        let found = incidents(&trace);
        assert_eq!(found.iter().map(brief).collect::<Vec<_>>(), expected, "{}: {found:#?}", run.0);
        if let Some(stall) = found.first() {
            // The loss of the task is part of the stall.
            let lost = lost_by_truth(&trace.truth);
            assert_eq!(stall["cost"]["tasks_lost"], lost.len(), "{}", run.0);
            assert!(
                lost.iter().all(|(agent, task)| stall["agents"][0] == **agent && stall["tasks"][0] == **task)
            );
            assert!(stall["cost"]["seconds"].as_u64().unwrap() >= 15 * 60, "{}", run.0);
        }
    }
}

/// The open tasks on disk at the last step.
fn open_tasks(trace: &Trace) -> Vec<String> {
    let mut tasks: Map<String, Value> = Map::new();
    for step in &trace.steps {
        let written = step.get("write").and_then(Value::as_object).into_iter().flatten();
        for (path, text) in written.filter(|(path, _)| path.starts_with("tasks/") && path.ends_with(".json"))
        {
            tasks.insert(path.clone(), serde_json::from_str(text.as_str().unwrap()).unwrap());
        }
        for path in step.get("remove").and_then(Value::as_array).into_iter().flatten() {
            tasks.remove(path.as_str().unwrap());
        }
    }
    tasks.values().filter(|task| task["status"] != "completed").map(|task| text(&task["id"])).collect()
}

#[test]
fn lead_that_is_killed_is_one_incident_with_the_tasks_that_were_open() {
    for run in [V328, PANES, GC] {
        let all = Trace::read(run.0, run.1).steps.len();
        for part in [2, 4, 7] {
            let trace = cut(run, all * part / 8);
            let (crashes, others): (Vec<_>, Vec<_>) =
                found(&trace).into_iter().partition(|(kind, ..)| kind == "crashed-lead");
            assert_eq!(crashes.len(), 1, "{}, {part}: {crashes:?}", run.0);
            let lost = lost(&trace);
            assert!(others.iter().all(|one| lost.contains(one)), "{}, {part}: {others:?}", run.0);
            let reported: BTreeSet<&String> =
                crashes.iter().chain(&others).flat_map(|(.., tasks)| tasks).collect();
            assert_eq!(reported, open_tasks(&trace).iter().collect(), "{}, {part}", run.0);
        }
    }
}

#[test]
fn missing_kinds_of_hook_calls_cause_no_false_incident() {
    for run in [V177, V328, PANES] {
        for kinds in [
            &["PreToolUse"][..],
            &["PostToolUse"],
            &["PreToolUse", "PostToolUse"],
            &["SubagentStart", "SubagentStop"],
            &["Stop", "TeammateIdle", "TaskCompleted"],
        ] {
            let trace = without(run, |payload| kinds.iter().any(|kind| payload["hook_event_name"] == *kind));
            assert_eq!(found(&trace), lost(&trace), "{} without {kinds:?}", run.0);
        }
    }
}

#[test]
fn missing_quarter_of_the_hook_calls_causes_no_false_incident() {
    for (place, run) in [V47, V177, V328, PANES, NOTASKS, GC].into_iter().enumerate() {
        let mut random = place as u32;
        let trace = without(run, |payload| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let is_edge =
                ["SessionStart", "SessionEnd"].iter().any(|kind| payload["hook_event_name"] == *kind);
            !is_edge && random >> 30 == 0
        });
        assert_eq!(found(&trace), lost(&trace), "{}", run.0);
    }
}

#[test]
fn clear_causes_no_false_incident() {
    for run in [V328, GC] {
        let all = Trace::read(run.0, run.1).steps.len();
        for part in [2, 4, 7] {
            let trace = cleared(run, all * part / 8);
            assert_eq!(found(&trace), lost(&trace), "{}, {part}", run.0);
        }
    }
}
