//! How a command runs and ends, and the part of its output that is kept.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::super::{Check, CheckOutcome, run};
use super::{Bed, check};

fn outcome(line: &str) -> CheckOutcome {
    Bed::new().run(&check(line)).outcome
}

fn lines(outcome: CheckOutcome) -> Vec<String> {
    match outcome {
        CheckOutcome::Failed { last_lines, .. } | CheckOutcome::TimedOut { last_lines, .. } => last_lines,
        other => panic!("{other:?} says nothing"),
    }
}

#[test]
fn a_command_passes_or_fails_with_its_exit_code_and_last_lines() {
    assert_eq!(outcome("echo fine"), CheckOutcome::Passed);
    let last_lines = vec!["first".to_owned(), "second\\u{202e}".to_owned()];
    assert_eq!(
        outcome("echo first; printf 'second\\007\\342\\200\\256\\n' >&2; exit 3"),
        CheckOutcome::Failed { exit: 3, last_lines }
    );
    assert_eq!(outcome("kill -9 $$"), CheckOutcome::Failed { exit: 137, last_lines: Vec::new() });
    assert_eq!(lines(outcome("seq 100; false")), (1..=100).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_command_runs_in_the_given_directory_without_stdin() {
    let bed = Bed::new();
    let said = lines(bed.run_in(&bed.tree().join("sub"), &[&check("pwd -P; cat; false")]).remove(0).outcome);
    assert!(said.len() == 1 && said[0].ends_with("/tree/sub"), "{said:?}");
}

#[test]
fn every_check_runs_and_each_command_once() {
    let bed = Bed::new();
    let (one, two) = (bed.counted("false"), check("true"));
    let done = bed.run_in(&bed.tree(), &[&one, &two, &one]);
    assert_eq!(done.len(), 2);
    assert_eq!((&done[1].outcome, bed.runs()), (&CheckOutcome::Passed, 1));
}

#[test]
fn a_command_that_exceeds_its_limit_is_killed_with_its_children() {
    let bed = Bed::new();
    let line = "echo begun; sleep 1000 & echo $! > child; (sleep 1000; true) & sleep 1000";
    let slow = Check { timeout: Duration::from_secs(3), ..check(line) };
    let outcome = bed.run(&slow).outcome;
    assert_eq!(outcome, CheckOutcome::TimedOut { after: slow.timeout, last_lines: vec!["begun".to_owned()] });
    let child = std::fs::read_to_string(bed.tree().join("child")).unwrap();
    while is_running(child.trim()) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A zombie does not count as running.
fn is_running(pid: &str) -> bool {
    let listed = Command::new("ps").args(["-o", "stat=", "-p", pid]).output();
    let state = listed.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    state.is_ok_and(|state| !state.is_empty() && !state.starts_with('Z'))
}

#[test]
fn background_processes_of_a_command_end_with_it() {
    let bed = Bed::new();
    assert_eq!(bed.run(&check("sleep 1000 & echo $! > child")).outcome, CheckOutcome::Passed);
    let child = std::fs::read_to_string(bed.tree().join("child")).unwrap();
    while is_running(child.trim()) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_process_outside_the_group_is_not_waited_for() {
    let ended = outcome("setsid yes & sleep 0.2; exit 3");
    assert!(matches!(ended, CheckOutcome::Failed { exit: 3, .. }), "{ended:?}");
}

#[test]
fn a_command_that_closes_its_streams_is_waited_for() {
    let bed = Bed::new();
    assert_eq!(
        bed.run(&check("exec >&- 2>&-; sleep 0.1; touch done; exit 4")).outcome,
        CheckOutcome::Failed { exit: 4, last_lines: Vec::new() }
    );
    assert!(bed.tree().join("done").exists());
}

#[test]
fn the_end_of_100_mb_of_output_is_kept() {
    let said = lines(outcome("head -c 104857600 /dev/zero; echo; echo the end; false"));
    assert_eq!(said.last().unwrap(), "the end");
    assert!(said.iter().all(|line| line.chars().count() <= 200));
}

#[test]
fn binary_output_becomes_escaped_text() {
    let said = lines(outcome("printf 'a\\377\\376\\000b\\033[2J\\302\\n'; false"));
    assert_eq!(said, ["a\u{fffd}\u{fffd}b\u{fffd}"]);
    let random = lines(outcome("head -c 300000 /dev/urandom; false"));
    assert!(random.iter().all(|line| !line.chars().any(char::is_control)));
}

#[test]
fn a_check_in_a_missing_directory_does_not_pass() {
    let bed = Bed::new();
    for gone in ["/nonexistent", ""] {
        let checked = bed.run_in(Path::new(gone), &[&bed.counted("true")]).remove(0);
        let why = format!("its directory \"{gone}\" does not exist");
        assert_eq!((checked.outcome, bed.runs()), (CheckOutcome::NotBegun { why }, 0));
    }
}

#[test]
fn each_completion_runs_its_checks_also_at_the_same_time() {
    let bed = Bed::new();
    let check = bed.counted("sleep 0.1");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(bed.run(&check).outcome, CheckOutcome::Passed));
        }
    });
    assert_eq!((bed.run(&check).outcome, bed.runs()), (CheckOutcome::Passed, 4));
}

#[test]
fn a_check_without_time_is_not_begun() {
    let bed = Bed::new();
    let checked = run(&[&bed.counted("true")], &bed.tree(), Duration::ZERO).remove(0);
    let why = "no time was left for it".to_owned();
    assert_eq!((checked.outcome, bed.runs()), (CheckOutcome::NotBegun { why }, 0));
}
