//! What becomes of a finding.

use crate::policy::{Decision, Finding, Guard, Verdict, settle};

fn finding(gate: &'static str, about: &str, decision: Decision) -> Finding {
    let (about, reason) = (about.to_owned(), "no".to_owned());
    Finding { gate, code: "c", decision, about, reason, rule: None, place: None, lasting: false }
}

fn block(guard: &mut Guard, about: &str, state: &str) -> Verdict {
    settle(&finding("premature-shutdown", about, Decision::Block), state, guard, 3, false)
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
    assert_eq!(guard.blocks.len(), 2, "the old state is forgotten: {guard:?}");
    for rule in ["a", "b"] {
        let rule = Finding { rule: Some(rule.to_owned()), ..finding("rule", "bob", Decision::Block) };
        let blocks = (0..9).filter(|_| settle(&rule, "s", &mut guard, 2, false).decision == Decision::Block);
        assert_eq!(blocks.count(), 2);
    }
}

#[test]
fn what_lasts_is_blocked_however_often_it_is_tried_and_a_human_can_pause_it() {
    let mut guard = Guard::default();
    let rule = Finding { lasting: true, ..finding("rule", "bob", Decision::Block) };
    let mut decide = |paused| settle(&rule, "s", &mut guard, 1, paused).decision;
    assert!((0..9).all(|_| decide(false) == Decision::Block));
    assert_eq!(decide(true), Decision::Allow);
}

#[test]
fn an_idle_is_blocked_once_in_a_state() {
    let mut guard = Guard::default();
    let idle = finding("idle-with-work", "bob", Decision::Block);
    let mut decide = |state| settle(&idle, state, &mut guard, 3, false).decision;
    assert_eq!(
        [decide("s1"), decide("s1"), decide("s2")],
        [Decision::Block, Decision::Allow, Decision::Block]
    );
}

#[test]
fn what_a_human_lets_through_is_recorded_and_not_counted() {
    let mut guard = Guard::default();
    for decision in [Decision::Block, Decision::Warn] {
        let verdict = settle(&finding("g", "bob", decision), "s", &mut guard, 3, true);
        assert_eq!((verdict.decision, verdict.paused, verdict.escalated), (Decision::Allow, true, false));
    }
    assert_eq!(guard, Guard::default());
}

#[test]
fn a_warning_is_told_once_in_a_state() {
    let mut guard = Guard::default();
    let mut warn = |reason: &str, state: &str| {
        let finding = Finding { reason: reason.to_owned(), ..finding("g", "bob", Decision::Warn) };
        let verdict = settle(&finding, state, &mut guard, 3, false);
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
fn with_no_blocks_allowed_nothing_blocks() {
    let verdict = settle(&finding("g", "bob", Decision::Block), "s", &mut Guard::default(), 0, false);
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
