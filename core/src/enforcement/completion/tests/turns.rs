//! Calls that run the same check at the same time.

use std::sync::Barrier;
use std::time::Duration;

use super::super::result_cache::ResultCache;
use super::super::{Check, CheckOutcome, CheckResult, run};
use super::Bed;

#[test]
fn two_concurrent_completions_run_a_check_once() {
    let bed = Bed::repository();
    let check = bed.counted("sleep 0.2");
    let barrier = Barrier::new(4);
    let done: Vec<CheckResult> = std::thread::scope(|scope| {
        let begin = || {
            barrier.wait();
            bed.run(&check)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(begin)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(bed.runs(), 1);
    assert_eq!(done.iter().filter(|checked| checked.cached).count(), 3);
    assert!(done.iter().all(|checked| checked.outcome == done[0].outcome));
}

#[test]
fn two_concurrent_completions_run_a_check_in_turn_if_no_result_is_stored() {
    let bed = Bed::new();
    let check = bed.counted("mkdir busy && sleep 0.1 && rmdir busy");
    let done: Vec<CheckResult> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| bed.run(&check))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(done.iter().all(|checked| checked.outcome == CheckOutcome::Passed), "{done:?}");
    assert_eq!(bed.runs(), 3);
}

#[test]
fn waiting_for_another_run_ends_with_the_budget() {
    let bed = Bed::new();
    let check = bed.counted("true");
    let dir = bed.0.path().join("policy");
    let _held = ResultCache::new(&dir).lock(&check.run, &bed.tree(), Duration::ZERO).unwrap().unwrap();
    let checked = run(&[&check], &bed.tree(), &dir, Duration::from_millis(2)).remove(0);
    let why = "other runs of it did not end within 2 ms".to_owned();
    assert_eq!((checked.outcome, bed.runs()), (CheckOutcome::NotBegun { why }, 0));
}

#[test]
fn all_waiting_completions_get_their_turn() {
    let bed = Bed::new();
    let check = Check { timeout: Duration::from_secs(1), ..bed.counted("sleep 0.4; exit 1") };
    let fails = || bed.run(&check).outcome == CheckOutcome::Failed { exit: 1, last_lines: Vec::new() };
    let failed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(fails)).collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    });
    assert_eq!((failed, bed.runs()), (4, 4));
}
