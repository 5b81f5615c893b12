//! Recorded runs in which the hooks tell less than they did, or by another clock: what happened is told all the same.

use serde_json::{Value, json};

use super::traces::{GC, PANES, PlayedRun, V47, V177, V328, play_again};
use crate::support::reenact::Trace;

/// A recorded run with each of its steps altered.
fn altered((name, began): (&str, &'static str), mut alter: impl FnMut(&mut Value)) -> PlayedRun {
    let mut trace = Trace::read(name, began);
    trace.steps.iter_mut().for_each(&mut alter);
    play_again(trace, 1)
}

fn forget(payload: &mut Value, keys: &[&str]) {
    let payload = payload.as_object_mut().unwrap();
    payload.retain(|key, _| !keys.contains(&key.as_str()));
}

#[test]
fn clock_set_back_does_not_reorder_effects_before_causes() {
    for (back, run) in [(3 * 3_600_000, V328), (3 * 3_600_000, V47), (2_000, PANES), (2_000, GC)] {
        let mut place = 0;
        let told = altered(run, |step| {
            place += 1;
            if place > 41 {
                step["at_ms"] = json!(step["at_ms"].as_i64().unwrap() - back);
            }
        });
        told.check(if run == V47 { "team-delete" } else { "session-end" });
        let unknown = |entry: &&Value| entry["actor"] == "unknown";
        assert_eq!(told.entries.iter().find(unknown), None, "{run:?}");
    }
}

#[test]
fn transcripts_without_hook_references_cause_no_duplicates() {
    let told = altered(V47, |step| {
        if step["payload"]["hook_event_name"].as_str().unwrap().starts_with("Subagent") {
            forget(&mut step["payload"], &["agent_id", "agent_type", "agent_transcript_path"]);
        }
    });
    told.check("team-delete");
    let ours = |entry: &&Value| entry["kind"].as_str().unwrap().starts_with("task-");
    let actors: Vec<&Value> = told.entries.iter().filter(ours).map(|entry| &entry["actor"]).collect();
    assert!(!actors.contains(&&json!("unknown")), "{actors:?}");
}

#[test]
fn lead_session_is_not_attributed_to_a_teammate_that_it_mentions() {
    for run in [V328, GC] {
        let told = altered(run, |step| forget(&mut step["payload"], &["agent_id"]));
        told.check("session-end");
    }
}

#[test]
fn actor_of_a_task_change_is_found_from_a_started_call_and_its_transcript() {
    for (run, ended_by) in [(V177, "team-delete"), (V328, "session-end"), (PANES, "session-end")] {
        let told = altered(run, |step| {
            let payload = &mut step["payload"];
            if payload["hook_event_name"] == "PostToolUse" && payload["tool_name"] == "TaskUpdate" {
                payload["hook_event_name"] = json!("SomethingElse");
            }
        });
        told.check(ended_by);
        let changes = ["task-changed", "task-completed"];
        let of_task = |entry: &&Value| changes.iter().any(|kind| entry["kind"] == *kind);
        let actors: Vec<&Value> = told.entries.iter().filter(of_task).map(|entry| &entry["actor"]).collect();
        assert!(actors.len() > 5 && !actors.contains(&&json!("unknown")), "{run:?}: {actors:?}");
    }
}
