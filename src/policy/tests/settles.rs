//! From finding to verdict.

use super::scene::settle;
use crate::config::Gate;
use crate::policy::{Attempt, Decision, Finding, Guard, TeamState, Verdict};
use crate::team::Task;

fn finding(gate: Gate, about: &str, decision: Decision) -> Finding {
    let (about, reason) = (about.to_owned(), "no".to_owned());
    Finding {
        gate,
        code: "c",
        decision,
        about,
        counted: None,
        reason,
        rule: None,
        place: None,
        lasting: false,
    }
}

fn block(guard: &mut Guard, about: &str, state: &str) -> Verdict {
    settle(
        &finding(Gate::PrematureShutdown, about, Decision::Block),
        state,
        guard,
        3,
        &Attempt::single(),
        false,
    )
}

#[test]
fn a_gate_that_has_blocked_often_enough_lets_through_and_stays_so() {
    let mut guard = Guard::default();
    let mut verdicts = (0..6).map(|_| block(&mut guard, "bob", "s1"));
    assert!(
        verdicts.by_ref().take(3).all(|verdict| verdict.decision == Decision::Block && !verdict.escalated)
    );
    assert!(verdicts.all(|verdict| verdict.decision == Decision::Allow && verdict.escalated));
}

#[test]
fn another_state_actor_or_rule_counts_for_itself() {
    let mut guard = Guard::default();
    (0..4).for_each(|_| drop(block(&mut guard, "bob", "s1")));
    assert_eq!(block(&mut guard, "alice", "s1").decision, Decision::Block);
    assert_eq!(block(&mut guard, "bob", "s2").decision, Decision::Block);
    for rule in ["a", "b"] {
        let rule = Finding { rule: Some(rule.to_owned()), ..finding(Gate::Rule, "bob", Decision::Block) };
        let blocks = (0..9).filter(|_| {
            settle(&rule, "s", &mut guard, 2, &Attempt::single(), false).decision == Decision::Block
        });
        assert_eq!(blocks.count(), 2);
    }
}

/// How often bob is blocked in these states.
fn blocked<'a>(finding: &Finding, guard: &mut Guard, states: impl IntoIterator<Item = &'a str>) -> usize {
    let decide = |state| settle(finding, state, guard, 2, &Attempt::single(), false).decision;
    states.into_iter().map(decide).filter(|decision| *decision == Decision::Block).count()
}

#[test]
fn states_that_alternate_or_are_always_new_end_in_letting_through() {
    let turns = ["0-a", "0-b"].into_iter().cycle();
    let report = finding(Gate::ReportBeforeIdle, "bob", Decision::Block);
    let idle = finding(Gate::IdleWithWork, "bob", Decision::Block);
    assert_eq!(blocked(&report, &mut Guard::default(), turns.clone().take(50)), 4);
    assert_eq!(blocked(&idle, &mut Guard::default(), turns.take(50)), 2);
    let new: Vec<String> = (0..50).map(|number| format!("0-{number}")).collect();
    let new = || new.iter().map(String::as_str);
    assert_eq!(blocked(&report, &mut Guard::default(), new()), 6);
    assert_eq!(blocked(&idle, &mut Guard::default(), new()), 3);
}

#[test]
fn only_a_task_that_was_never_completed_before_begins_the_count_anew() {
    let (mut guard, finding) = (Guard::default(), finding(Gate::IdleWithWork, "bob", Decision::Block));
    let all = ["a", "b", "c", "d", "e"];
    guard.note_progress(&with(&[("1", "completed"), ("2", "pending")]));
    assert_eq!(blocked(&finding, &mut guard, all), 3);
    guard.note_progress(&with(&[("1", "in_progress"), ("2", "pending")]));
    guard.note_progress(&with(&[("1", "completed"), ("2", "in_progress")]));
    assert_eq!(blocked(&finding, &mut guard, all), 0, "what is completed again is no more work");
    guard.note_progress(&with(&[("1", "completed"), ("2", "completed")]));
    assert_eq!(blocked(&finding, &mut guard, all), 3);
    // Claude Code deletes the files when all tasks are completed.
    guard.note_progress(&with(&[]));
    assert_eq!(blocked(&finding, &mut guard, all), 0);
    guard.note_progress(&with(&[("3", "completed"), ("4", "in_progress")]));
    assert_eq!(blocked(&finding, &mut guard, all), 3, "fewer are on disk, and more were completed");
    for id in 0..2000 {
        guard.note_progress(&with(&[(&id.to_string(), "completed")]));
    }
    assert!(guard.completed.len() <= 512);
}

/// A team with these tasks: id and status.
fn with(tasks: &[(&str, &str)]) -> TeamState {
    let task = |(id, status): &(&str, &str)| {
        let text = format!(r#"{{"id":"{id}","status":"{status}"}}"#);
        Some((id.to_string(), Task::parse(&format!("{id}.json"), text.as_bytes())?))
    };
    TeamState { tasks: tasks.iter().filter_map(task).collect(), ..TeamState::default() }
}

#[test]
fn what_was_counted_elsewhere_counts_here() {
    let (mut here, mut there) = (Guard::default(), Guard::default());
    (0..2).for_each(|_| drop(block(&mut there, "bob", "s")));
    block(&mut here, "bob", "s");
    here.merge(&there);
    let next = [block(&mut here, "bob", "s").decision, block(&mut here, "bob", "s").decision];
    assert_eq!(next, [Decision::Block, Decision::Allow]);
}

#[test]
fn any_number_of_rules_has_one_ceiling_for_each_actor() {
    let mut guard = Guard::default();
    let rules: Vec<Finding> = (0..520)
        .map(|number| Finding {
            rule: Some(format!("r:{number}")),
            ..finding(Gate::Rule, "bob", Decision::Block)
        })
        .collect();
    let mut stop = |state: &str| {
        rules.iter().any(|rule| {
            settle(rule, state, &mut guard, 1, &Attempt::single(), false).decision == Decision::Block
        })
    };
    assert_eq!((0..99).filter(|_| stop("0-a")).count(), 3);
    assert!(!stop("0-b"));
}

#[test]
fn a_full_book_lets_through() {
    let mut guard = Guard::default();
    let names: Vec<String> = (0..600).map(|number| format!("m{number}")).collect();
    let mut round =
        || names.iter().filter(|name| block(&mut guard, name, "0-a").decision == Decision::Block).count();
    assert_eq!([round(), round(), round(), round()], [512, 512, 512, 0]);
}

#[test]
fn what_lasts_is_blocked_however_often_it_is_tried_and_a_human_can_pause_it() {
    let mut guard = Guard::default();
    let rule = Finding { lasting: true, ..finding(Gate::Rule, "bob", Decision::Block) };
    let mut decide = |paused| settle(&rule, "s", &mut guard, 1, &Attempt::single(), paused).decision;
    assert!((0..9).all(|_| decide(false) == Decision::Block));
    assert_eq!(decide(true), Decision::Allow);
}

#[test]
fn an_idle_is_blocked_once_in_a_state() {
    let mut guard = Guard::default();
    let idle = finding(Gate::IdleWithWork, "bob", Decision::Block);
    let mut decide = |state| settle(&idle, state, &mut guard, 3, &Attempt::single(), false).decision;
    assert_eq!(
        [decide("s1"), decide("s1"), decide("s2")],
        [Decision::Block, Decision::Allow, Decision::Block]
    );
}

#[test]
fn what_a_human_lets_through_is_recorded_and_not_counted() {
    let mut guard = Guard::default();
    for decision in [Decision::Block, Decision::Warn] {
        let verdict = settle(
            &finding(Gate::ProtectLead, "bob", decision),
            "s",
            &mut guard,
            3,
            &Attempt::single(),
            true,
        );
        assert_eq!((verdict.decision, verdict.paused, verdict.escalated), (Decision::Allow, true, false));
    }
    assert_eq!(guard, Guard::default());
}

#[test]
fn a_warning_is_told_once_in_a_state() {
    let mut guard = Guard::default();
    let mut warn = |reason: &str, state: &str| {
        let finding =
            Finding { reason: reason.to_owned(), ..finding(Gate::ProtectLead, "bob", Decision::Warn) };
        let verdict = settle(&finding, state, &mut guard, 3, &Attempt::single(), false);
        assert_eq!(verdict.decision, Decision::Warn);
        verdict.repeated
    };
    assert_eq!([warn("a", "s1"), warn("a", "s1"), warn("a", "s1")], [false, true, true]);
    assert_eq!(
        [warn("b", "s1"), warn("b", "s1"), warn("a", "s1")],
        [false, true, true],
        "another thing is told"
    );
    assert_eq!([warn("a", "s2"), warn("a", "s2")], [false, true]);
}

#[test]
fn what_was_told_in_a_state_is_not_told_again_when_that_comes_back() {
    let mut guard = Guard::default();
    let mut told = |about: &str, state: &str| {
        !settle(
            &finding(Gate::ProtectLead, about, Decision::Warn),
            state,
            &mut guard,
            3,
            &Attempt::single(),
            false,
        )
        .repeated
    };
    let alternating = ["a", "b"].into_iter().cycle().take(8);
    assert_eq!(alternating.filter(|state| told("bob", state)).count(), 2);
    // Entries of others do not displace bob's, and the oldest entry is dropped first.
    for number in 0..100 {
        assert!(told("alice", &format!("s{number}")));
    }
    assert!(!told("bob", "b") && !told("bob", "a"));
    assert!(!told("alice", "s99") && told("alice", "s0"));
    for number in 0..600 {
        told(&format!("m{number}"), "a");
    }
    assert!(guard.warned.len() <= 512);
}

#[test]
fn with_no_blocks_allowed_nothing_blocks() {
    let verdict = settle(
        &finding(Gate::ProtectLead, "bob", Decision::Block),
        "s",
        &mut Guard::default(),
        0,
        &Attempt::single(),
        false,
    );
    assert!(verdict.escalated && verdict.decision == Decision::Allow);
}

#[test]
fn a_guard_does_not_grow_without_bounds() {
    let mut guard = Guard::default();
    for number in 0..3000 {
        block(&mut guard, &format!("m{number}"), "s");
        block(&mut guard, "bob", &format!("s{number}"));
    }
    assert!(guard.blocks.len() <= 512);
}
