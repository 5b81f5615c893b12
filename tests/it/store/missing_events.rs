//! Runs whose events are missing.

use serde_json::{Value, json};

use super::retention::{ROOMY, act, end};
use crate::support::sandbox::Sandbox;

#[test]
fn a_run_without_its_early_events_reports_that_and_invents_nothing() {
    let sandbox = Sandbox::new();
    sandbox.configure(ROOMY);
    let lead = act(&sandbox, 1);
    end(&sandbox, &lead);
    let whole = sandbox.printed(&["report", "--format", "json"]);
    assert!(!whole.contains("events-missing") && sandbox.teams()[0].get("events_missing_until").is_none());
    let log = sandbox.run_log();
    let segments = log.segments().unwrap();
    assert!(segments.len() > 2);
    std::fs::remove_file(segments[0].path()).unwrap();
    let of_run = |event: &Value| !event["run"].is_null();
    let until = sandbox.log().into_iter().find(of_run).unwrap()["at"].clone();
    assert_eq!(sandbox.teams()[0]["events_missing_until"], until);
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--format", "json"])).unwrap();
    let codes: Vec<&str> =
        report["observations"].as_array().unwrap().iter().filter_map(|it| it["code"].as_str()).collect();
    assert!(codes.contains(&"events-missing") && !codes.contains(&"never-reported"), "{codes:?}");
    for args in [&["log"][..], &["teams"], &["report"]] {
        let result = sandbox.printed(args);
        assert!(result.contains("missing"), "{args:?}: {result}");
    }
    segments[1..].iter().for_each(|segment| std::fs::remove_file(segment.path()).unwrap());
    let ended = sandbox.teams()[0]["ended_at"].clone();
    assert_eq!(sandbox.teams()[0]["events_missing_until"], ended);
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--format", "json"])).unwrap();
    let delivered = report["mail"]["messages"].as_array().unwrap().iter().map(|one| one["delivered"].clone());
    assert!(delivered.into_iter().all(|one| one != json!(false)));
}

#[test]
fn a_run_that_was_found_before_its_session_began_misses_no_events() {
    let sandbox = Sandbox::new();
    sandbox.configure(ROOMY);
    let lead = act(&sandbox, 1);
    end(&sandbox, &lead);
    let path = sandbox.keep(&format!("runs/{}/run.json", sandbox.library().runs[0].run));
    let mut run: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    // As if a hook call of another session had looked at the team first.
    run["started_at"] = json!("2026-01-01T00:00:00.000Z");
    std::fs::write(&path, run.to_string()).unwrap();
    assert!(sandbox.teams()[0].get("events_missing_until").is_none());
    assert!(!sandbox.printed(&["report", "--format", "json"]).contains("events-missing"));
}
