//! The incidents of recorded runs: those that their truth has, and no other.

use serde_json::{Value, json};

use crate::history::traces::{ALL, play};
use crate::support::big_run::{BigRun, Course, LOST, MESSAGES, SILENT_FROM, SILENT_TO, TASKS, UNREAD};
use crate::support::sandbox::Sandbox;

fn report(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap()
}

fn big(course: Course) -> (Sandbox, BigRun, Value) {
    let sandbox = Sandbox::new();
    let run = BigRun::write(&sandbox.keep(""), &sandbox.client(""), course);
    let report = report(&sandbox);
    let count = &report["overview"]["count"];
    assert_eq!(
        (&count["messages"], &count["tasks"], &count["members"]),
        (&json!(MESSAGES), &json!(TASKS), &json!(13))
    );
    (sandbox, run, report)
}

#[test]
fn big_run_with_one_silent_teammate_has_one_incident_with_its_cause_and_cost() {
    let (_sandbox, run, report) = big(Course::Stall);
    assert_eq!(report["overview"]["count"]["completed"], TASKS - 1);
    let incidents = report["incidents"].as_array().unwrap();
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    let stall = &incidents[0];
    assert_eq!((&stall["kind"], &stall["severity"]), (&json!("stalled-agent"), &json!("high")));
    assert_eq!((&stall["agents"][0], &stall["tasks"]), (&json!("mobile"), &json!([LOST.to_string()])));
    assert_eq!(stall["cost"]["seconds"], SILENT_TO - SILENT_FROM);
    assert_eq!(stall["cost"]["tasks_lost"], 1);
    assert_eq!(stall["cost"]["tokens"], run.lost_tokens);
    assert!(run.lost_tokens > 0);
    let summary = format!(
        "mobile was silent for 3 h 18 min with #{LOST} in progress; {UNREAD} messages waited for it; #{LOST} was never completed"
    );
    assert_eq!(stall["summary"], summary);
    let chain: Vec<&str> =
        stall["chain"].as_array().unwrap().iter().map(|step| step["what"].as_str().unwrap()).collect();
    assert_eq!(chain.iter().filter(|what| what.contains("was blocked")).count(), 3, "{chain:#?}");
    assert!(chain.iter().any(|what| what.contains("allowed after 3 blocks")), "{chain:#?}");
    let returned = format!("Claude Code returned #{LOST} to pending");
    assert!(chain.iter().any(|what| what.starts_with(&returned)), "{chain:#?}");
}

#[test]
fn big_run_that_goes_well_has_no_incident() {
    let (_sandbox, _run, report) = big(Course::Good);
    assert_eq!(report["overview"]["count"]["completed"], TASKS);
    assert_eq!(report["incidents"], json!([]));
}

/// The teammates that were stopped with a task in progress, and the task: by the truth about the run.
pub fn lost_by_truth(truth: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tasks = truth["tasks"].as_object().unwrap().values().flat_map(|list| list.as_object().unwrap());
    let lost = tasks.filter_map(|(id, task)| {
        let states = task["states"].as_array().unwrap();
        let pair = states
            .windows(2)
            .find(|pair| pair[0][0] == "in_progress" && pair[1] == json!(["pending", null]))?;
        Some((text(&pair[0][1]), id.clone()))
    });
    lost.collect()
}

#[test]
fn each_recorded_run_has_the_incidents_of_its_truth_and_no_other() {
    for name in ALL {
        for jobs in [1, 4] {
            let told = play(name, jobs);
            let expected = lost_by_truth(&told.trace.truth);
            let report = report(&told.sandbox);
            let found = report["incidents"].as_array().unwrap();
            let found: Vec<(String, String, String)> = found
                .iter()
                .map(|one| {
                    let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    (part(&one["kind"]), part(&one["agents"][0]), part(&one["tasks"][0]))
                })
                .collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(agent, task)| ("lost-work".to_owned(), agent, task)).collect();
            assert_eq!(found, expected, "{}, {jobs} at once", name.0);
        }
    }
}

/// Writes the big run below the directory in `TEAMKEEP_BIG_RUN`, to look at it: `keep` is its store, `home` the home
/// directory. `TEAMKEEP_BIG_RUN_MESSAGES` is its number of messages.
#[test]
#[ignore = "writes a run for people to look at"]
fn write_the_big_run() {
    let Some(dir) = std::env::var_os("TEAMKEEP_BIG_RUN").map(std::path::PathBuf::from) else { return };
    let messages = std::env::var("TEAMKEEP_BIG_RUN_MESSAGES").ok().and_then(|many| many.parse().ok());
    let (keep, client) = (dir.join("keep"), dir.join("home/.claude"));
    BigRun::with_messages(&keep, &client, Course::Stall, messages.unwrap_or(MESSAGES));
}
