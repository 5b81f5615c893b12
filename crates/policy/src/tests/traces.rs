//! Verdicts for the recorded runs.

use super::trace::{Found, play};
use crate::gates::tasks;
use crate::{Decision, Finding};
use teamkeep_config::{Check, Mode, Policy};
use teamkeep_model::payload::EventKind;

const WITH_TASKS: [&str; 4] = ["v47-inprocess", "v177-inprocess", "v328-inprocess", "v328-panes"];
const ALL: [&str; 7] = [
    "v47-inprocess",
    "v177-inprocess",
    "v328-inprocess",
    "v328-panes",
    "v328-notasks",
    "v328-headless",
    "v328-gc",
];

fn found(name: &str) -> Vec<Found> {
    play(name, &Policy::default(), |_| {})
}

fn with_code<'a>(found: &'a [Found], code: &str) -> Vec<&'a Finding> {
    let all = found.iter().flat_map(|found| &found.findings);
    all.filter(|finding| finding.code == code).collect()
}

#[test]
fn only_the_request_to_a_busy_teammate_is_found() {
    for name in WITH_TASKS {
        let found = found(name);
        let requests = with_code(&found, "shutdown-of-busy-teammate");
        let [request] = requests.as_slice() else { panic!("{name}: {requests:#?}") };
        assert_eq!((request.about.as_str(), request.decision), ("bob", Decision::Block), "{name}");
        assert!(request.text().contains("task 2 ") && request.text().contains("in_progress"), "{name}");
    }
}

#[test]
fn the_default_policy_blocks_these_events_of_the_recorded_runs() {
    for name in WITH_TASKS {
        let found = found(name);
        let all = found.iter().flat_map(|found| &found.findings);
        let blocks: Vec<_> = all
            .filter(|finding| finding.decision == Decision::Block)
            .map(|block| (block.code, block.about.as_str()))
            .collect();
        let expected = [("shutdown-of-busy-teammate", "bob"), ("approval-with-open-work", "bob")];
        assert_eq!(blocks, expected, "{name}");
    }
    for name in ["v328-notasks", "v328-headless", "v328-gc"] {
        let found = found(name);
        let mut all = found.iter().flat_map(|found| &found.findings);
        assert!(all.all(|finding| finding.decision == Decision::Warn), "{name}");
    }
}

#[test]
fn the_default_policy_warns_at_these_events_of_the_recorded_runs() {
    let mut told = String::new();
    for name in ALL {
        for found in found(name) {
            for finding in found.findings.iter().filter(|finding| finding.decision == Decision::Warn) {
                told += &format!("{name} {} {}: {}\n", found.step, finding.code, finding.about);
            }
        }
    }
    insta::assert_snapshot!(told, @r#"
    v47-inprocess 22 start-before-dependencies: bob
    v47-inprocess 66 idle-with-task-in-progress: bob
    v177-inprocess 25 start-before-dependencies: bob
    v177-inprocess 58 idle-with-task-in-progress: bob
    v328-inprocess 25 start-before-dependencies: bob
    v328-inprocess 59 idle-with-task-in-progress: bob
    v328-inprocess 98 idle-with-free-task: carol
    v328-panes 23 start-before-dependencies: bob
    v328-panes 49 idle-with-task-in-progress: bob
    v328-panes 60 idle-with-task-in-progress: bob
    v328-panes 78 idle-with-free-task: carol
    v328-notasks 38 shutdown-after-answer: alice
    v328-notasks 40 shutdown-after-answer: bob
    v328-gc 27 start-before-dependencies: bob
    v328-gc 66 idle-with-task-in-progress: bob
    "#);
}

#[test]
fn the_reasons_in_a_recorded_run_are_these() {
    let found = found("v328-inprocess");
    let mut reasons: Vec<String> =
        found.iter().flat_map(|found| &found.findings).map(|finding| finding.text()).collect();
    reasons.dedup();
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    Warning: starting task 2 "Review the parser" (pending, owner bob) before the tasks that it depends on: task 1 "Draft the parser" (in_progress, owner alice). Wait for it or help with it. If the dependency no longer applies, remove it first.
    Warning: bob goes idle while owning task 2 "Review the parser" (in_progress, owner bob). A message starts its next turn. A teammate that is waiting can add "waiting" to the task's metadata.
    Blocked: a shutdown request to bob, who still owns task 2 "Review the parser" (in_progress, owner bob). Wait until it is completed, or agree with the teammate to return or reassign it (TaskUpdate with another status or owner). Then try again.
    Blocked: approving the shutdown while still owning task 2 "Review the parser" (in_progress, owner bob). Complete the work, or return it (TaskUpdate: status pending, another owner), or answer with approve false and list the remaining work.
    Warning: carol goes idle although this task is unassigned: task 2 "Review the parser" (pending, no owner). The lead can assign it with TaskUpdate.
    "#);
}

#[test]
fn turns_are_over_when_a_teammate_goes_idle() {
    for name in ALL {
        let mut idles = 0;
        play(name, &Policy::default(), |facts| {
            if facts.event.kind == EventKind::TeammateIdle {
                let teammate = facts.event.payload.text("teammate_name").unwrap();
                assert!(!facts.team.ledger.works(teammate), "{name} {} {teammate}", facts.event.at);
                idles += 1;
            }
        });
        assert!(idles > 0 || name == "v328-headless", "{name}");
    }
}

#[test]
fn checks_are_due_at_completions_and_not_at_ends_of_turns() {
    let check = Check {
        run: "true".to_owned(),
        subject: "*".to_owned(),
        owner: "*".to_owned(),
        team: "*".to_owned(),
        timeout: std::time::Duration::from_secs(1),
    };
    let mut policy = Policy::default();
    policy.completion_check.check.push(check);
    for name in WITH_TASKS {
        let mut due = Vec::new();
        play(name, &policy, |facts| {
            if !tasks::due(&policy, facts).is_empty() {
                due.push(facts.event.payload.text("teammate_name").unwrap().to_owned());
            }
        });
        assert_eq!(due, ["alice", "carol"], "{name}");
    }
    policy.completion_check.mode = Mode::Off;
    play("v328-inprocess", &policy, |facts| assert!(tasks::due(&policy, facts).is_empty()));
}

#[test]
fn a_finished_team_owes_no_report_after_its_tasks_were_erased() {
    let last = found("v328-gc").pop().unwrap();
    assert!(last.team.tasks.is_empty() && last.team.ledger.tasked);
}
