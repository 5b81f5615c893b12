//! From finding to verdict.

use super::scene::{Scene, decide, idle, mate, payload};
use crate::{
    Counting, Decision, Evaluation, EvaluationInput, Finding, Guard, JudgedEvent, Reason, Rules, TeamState,
    Verdict, uncounted,
};
use teamkeep_config::{Gate, OnError, Policy};
use teamkeep_model::payload::EventKind;
use teamkeep_model::team::Task;

fn finding(gate: Gate, about: &str, decision: Decision) -> Finding {
    Finding::new(gate, "c", decision, about, Reason::default().then("no"))
}

fn rule(name: &str) -> Finding {
    Finding { rule: Some(name.to_owned()), ..finding(Gate::Rule, "bob", Decision::Block) }
}

/// How often the finding is blocked in these states of the work.
fn blocks<'a>(guard: &mut Guard, finding: &Finding, states: impl IntoIterator<Item = &'a str>) -> usize {
    let decision = |state| decide(finding, state, guard, 3, false).decision;
    states.into_iter().map(decision).filter(|decision| *decision == Decision::Block).count()
}

fn block(guard: &mut Guard, about: &str, state: &str) -> Verdict {
    decide(&finding(Gate::PrematureShutdown, about, Decision::Block), state, guard, 3, false)
}

#[test]
fn after_max_blocks_a_gate_allows_the_action_every_time() {
    let mut guard = Guard::default();
    let mut verdicts = (0..6).map(|_| block(&mut guard, "bob", "s1"));
    assert!(
        verdicts.by_ref().take(3).all(|verdict| verdict.decision == Decision::Block && !verdict.escalated)
    );
    assert!(verdicts.all(|verdict| verdict.decision == Decision::Allow && verdict.escalated));
}

#[test]
fn the_blocks_of_a_finding_are_those_that_were_counted() {
    let mut guard = Guard::default();
    let finding = finding(Gate::PrematureShutdown, "bob", Decision::Block);
    for blocks in [0, 1, 2, 3, 3] {
        assert_eq!(guard.blocks(&finding), blocks);
        decide(&finding, "s", &mut guard, 3, false);
    }
}

#[test]
fn blocks_count_under_another_name_and_warnings_under_the_agents_own() {
    let mut guard = Guard::default();
    let of_all = |about: &str, decision: Decision| Finding {
        counted: Some("* from team-lead".to_owned()),
        ..finding(Gate::PrematureShutdown, about, decision)
    };
    for about in ["alice", "bob"] {
        assert!(!decide(&of_all(about, Decision::Warn), "s", &mut guard, 3, false).repeated, "{about}");
    }
    let mut decisions = ["alice", "bob", "alice", "bob"]
        .map(|about| decide(&of_all(about, Decision::Block), "s", &mut guard, 3, false).decision)
        .into_iter();
    assert!(decisions.by_ref().take(3).all(|decision| decision == Decision::Block));
    assert_eq!(decisions.next(), Some(Decision::Allow));
}

#[test]
fn a_failure_that_nothing_counts_blocks_no_completion_at_the_end_of_a_turn() {
    let on = |on_error, kind| Decision::on_uncounted_failure(on_error, EventKind::named(kind));
    assert_eq!(on(OnError::Block, "PreToolUse"), Decision::Block);
    assert_eq!(on(OnError::Allow, "PreToolUse"), Decision::Allow);
    assert_eq!(on(OnError::Block, "TaskCreated"), Decision::Block);
    assert_eq!(on(OnError::Block, "TaskCompleted"), Decision::Allow);
    assert_eq!(on(OnError::Block, "Stop"), Decision::Allow);
}

#[test]
fn a_verdict_names_its_source_and_its_outcome() {
    let of_rule = Finding { file_line: Some("a.toml:3".to_owned()), ..rule("no-push") }.verdict();
    assert_eq!((of_rule.rule.as_deref(), of_rule.file_line.as_deref()), (Some("no-push"), Some("a.toml:3")));
    assert_eq!(of_rule.source(), "rule no-push");
    let verdict = finding(Gate::ProtectLead, "bob", Decision::Warn).verdict();
    assert_eq!((verdict.source().as_str(), verdict.word()), ("protect-lead", "warn"));
    assert_eq!(Verdict { repeated: true, ..verdict.clone() }.word(), "warn again");
    let allowed = Verdict { decision: Decision::Allow, ..verdict };
    assert_eq!(Verdict { escalated: true, ..allowed.clone() }.word(), "allow after blocks");
    assert_eq!(Verdict { paused: true, ..allowed.clone() }.word(), "paused");
    assert_eq!((allowed.word(), of_rule.word()), ("allow", "block"));
    let failure =
        Verdict::of_failure(OnError::Block, EventKind::PreToolUse, "policy-failed", "why".to_owned());
    let expected = Verdict::new(Decision::Block, "policy", "policy-failed", "why".to_owned());
    assert_eq!(failure, expected);
}

#[test]
fn each_agent_gate_and_rule_has_its_own_count() {
    let mut guard = Guard::default();
    let bob = finding(Gate::ReportBeforeIdle, "bob", Decision::Block);
    assert_eq!(blocks(&mut guard, &bob, ["s"; 9]), 3);
    let idle = finding(Gate::IdleWithWork, "bob", Decision::Block);
    assert_eq!(blocks(&mut guard, &idle, ["s"; 9]), 1, "only an idle teammate gets its messages");
    let alice = finding(Gate::ReportBeforeIdle, "alice", Decision::Block);
    for other in [alice, rule("a"), rule("b"), rule("a:b")] {
        assert_eq!(blocks(&mut guard, &other, ["s"; 9]), 3);
    }
}

#[test]
fn another_state_of_the_work_does_not_start_the_count_again() {
    let report = finding(Gate::ReportBeforeIdle, "bob", Decision::Block);
    let alternating = ["a", "b"].into_iter().cycle().take(50);
    assert_eq!(blocks(&mut Guard::default(), &report, alternating), 3);
    let new: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(blocks(&mut Guard::default(), &report, new.iter().map(String::as_str)), 3);
}

#[test]
fn only_a_task_that_was_never_completed_before_starts_the_count_again() {
    let (mut guard, report) = (Guard::default(), finding(Gate::ReportBeforeIdle, "bob", Decision::Block));
    let all = ["a", "b", "c", "d", "e"];
    guard.note_progress(&with(&[("1", "completed"), ("2", "pending")]));
    assert_eq!(blocks(&mut guard, &report, all), 3);
    guard.note_progress(&with(&[("1", "in_progress"), ("2", "pending")]));
    guard.note_progress(&with(&[("1", "completed"), ("2", "in_progress")]));
    assert_eq!(blocks(&mut guard, &report, all), 0, "completing the same task again is not progress");
    guard.note_progress(&with(&[("1", "completed"), ("2", "completed")]));
    assert_eq!(blocks(&mut guard, &report, all), 3);
    // Claude Code deletes the files when all tasks are completed.
    guard.note_progress(&with(&[]));
    assert_eq!(blocks(&mut guard, &report, all), 0);
    guard.note_progress(&with(&[("3", "completed"), ("4", "in_progress")]));
    assert_eq!(blocks(&mut guard, &report, all), 3, "fewer are on disk, and more were completed");
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
fn with_more_agents_than_counts_each_new_one_is_blocked_and_the_oldest_starts_again() {
    let mut guard = Guard::default();
    let of = |number: usize| finding(Gate::ReportBeforeIdle, &format!("m{number}"), Decision::Block);
    let next = |number: usize, guard: &mut Guard| {
        let counting = Counting { state: "s", max_blocks: 3, at: number as i64, ends_turn: true };
        guard.decide(&of(number), &counting).decision
    };
    for number in 1..=600 {
        for _ in 0..3 {
            assert_eq!(next(number, &mut guard), Decision::Block, "m{number}");
        }
    }
    assert_eq!(next(600, &mut guard), Decision::Allow);
    assert_eq!(next(89, &mut guard), Decision::Allow, "the last 512 are kept");
    assert_eq!(next(88, &mut guard), Decision::Block);
    let stored = serde_json::to_value(&guard).unwrap();
    assert_eq!(stored["counts"].as_object().unwrap().len(), 512);
}

#[test]
fn a_lasting_rule_blocks_every_time_unless_it_is_paused() {
    let mut guard = Guard::default();
    let rule = Finding { lasting: true, ..finding(Gate::Rule, "bob", Decision::Block) };
    let mut decision = |paused| decide(&rule, "s", &mut guard, 1, paused).decision;
    assert!((0..9).all(|_| decision(false) == Decision::Block));
    assert_eq!(decision(true), Decision::Allow);
}

#[test]
fn a_paused_finding_is_recorded_and_not_counted() {
    let mut guard = Guard::default();
    for decision in [Decision::Block, Decision::Warn] {
        let verdict = decide(&finding(Gate::ProtectLead, "bob", decision), "s", &mut guard, 3, true);
        assert_eq!((verdict.decision, verdict.paused, verdict.escalated), (Decision::Allow, true, false));
    }
    assert_eq!(guard, Guard::default());
}

#[test]
fn a_warning_is_shown_once_in_each_state() {
    let mut guard = Guard::default();
    let mut warn = |reason: &str, state: &str| {
        let finding =
            Finding { reason: reason.to_owned(), ..finding(Gate::ProtectLead, "bob", Decision::Warn) };
        let verdict = decide(&finding, state, &mut guard, 3, false);
        assert_eq!(verdict.decision, Decision::Warn);
        verdict.repeated
    };
    assert_eq!([warn("a", "s1"), warn("a", "s1"), warn("a", "s1")], [false, true, true]);
    assert_eq!(
        [warn("b", "s1"), warn("b", "s1"), warn("a", "s1")],
        [false, true, true],
        "another warning is shown"
    );
    assert_eq!([warn("a", "s2"), warn("a", "s2")], [false, true]);
}

#[test]
fn a_warning_is_not_shown_again_when_a_state_returns() {
    let mut guard = Guard::default();
    let mut is_shown = |about: &str, state: &str| {
        !decide(&finding(Gate::ProtectLead, about, Decision::Warn), state, &mut guard, 3, false).repeated
    };
    let alternating = ["a", "b"].into_iter().cycle().take(8);
    assert_eq!(alternating.filter(|state| is_shown("bob", state)).count(), 2);
    // The oldest entry is dropped first.
    for number in 0..510 {
        assert!(is_shown("alice", &format!("s{number}")));
    }
    assert!(!is_shown("bob", "a") && !is_shown("bob", "b"));
    assert!(is_shown("alice", "s510"));
    assert!(is_shown("bob", "a") && !is_shown("alice", "s1"));
}

#[test]
fn with_max_blocks_0_nothing_is_blocked() {
    let verdict =
        decide(&finding(Gate::ProtectLead, "bob", Decision::Block), "s", &mut Guard::default(), 0, false);
    assert!(verdict.escalated && verdict.decision == Decision::Allow);
}

#[test]
fn a_pause_permits_the_shutdown_that_is_blocked_without_it_and_not_one_with_a_warning() {
    let permitted =
        |decision: Decision| decided(&[finding(Gate::PrematureShutdown, "bob", decision)], true).permitted;
    assert_eq!(permitted(Decision::Block), ["bob"]);
    assert_eq!(permitted(Decision::Warn), [""; 0]);
}

#[test]
fn a_task_that_is_completed_again_is_no_progress_whatever_was_completed_meanwhile() {
    let (mut guard, report) = (Guard::default(), finding(Gate::ReportBeforeIdle, "bob", Decision::Block));
    guard.note_progress(&with(&[("1", "completed"), ("2", "pending")]));
    guard.note_progress(&with(&[("1", "in_progress"), ("2", "completed")]));
    assert_eq!(blocks(&mut guard, &report, ["s"; 9]), 3);
    guard.note_progress(&with(&[("1", "completed"), ("2", "completed")]));
    assert_eq!(blocks(&mut guard, &report, ["s"; 9]), 0);
}

/// The verdicts on the first attempt, under a pause or without one.
fn decided(findings: &[Finding], is_paused: bool) -> Evaluation {
    let counting = Counting { state: "s", max_blocks: 3, at: 0, ends_turn: true };
    crate::decide(findings, &mut Guard::default(), &counting, |_| is_paused)
}

#[test]
fn the_strictest_verdict_is_decisive_and_a_failure_only_if_nothing_else_blocks() {
    let (warn, block) =
        (finding(Gate::TeamSize, "bob", Decision::Warn), finding(Gate::ProtectLead, "bob", Decision::Block));
    let gate = |evaluation: &Evaluation| evaluation.decisive().map(|verdict| verdict.gate.clone()).unwrap();
    let failure = |decision| Verdict::new(decision, "policy", "failed", String::new());
    let mut blocked = decided(&[warn.clone(), block], false);
    assert_eq!((gate(&blocked).as_str(), blocked.is_blocked()), ("protect-lead", true));
    assert!(blocked.judgement().blocked);
    blocked.add(failure(Decision::Block));
    assert_eq!(gate(&blocked), "protect-lead", "the model reads the reason of the gate");
    let mut warned = decided(&[warn], false);
    assert!(!warned.is_blocked() && !warned.judgement().blocked);
    warned.add(failure(Decision::Warn));
    assert_eq!(gate(&warned), "team-size");
    warned.add(failure(Decision::Block));
    assert_eq!((gate(&warned).as_str(), warned.is_blocked()), ("policy", true));
}

#[test]
fn a_block_that_cannot_be_counted_warns_with_its_reason_unless_the_rule_is_lasting() {
    let warned = uncounted(finding(Gate::ProtectLead, "bob", Decision::Block));
    assert_eq!(warned.decision, Decision::Warn);
    assert!(
        warned.reason.ends_with("cannot count its blocks, so it allows it. The reason was: no"),
        "{warned:?}"
    );
    let advised =
        Finding { advice: "Wait.".to_owned(), ..finding(Gate::ProtectLead, "bob", Decision::Block) };
    assert_eq!(uncounted(advised).advice, "Wait.");
    let lasting = Finding { lasting: true, ..rule("r") };
    assert_eq!(uncounted(lasting).decision, Decision::Block);
    let warning = finding(Gate::ProtectLead, "bob", Decision::Warn);
    assert_eq!(uncounted(warning.clone()).reason, warning.reason, "a warning is not changed");
}

#[test]
fn a_completed_task_counts_when_a_call_reads_the_team() {
    let mut scene = Scene::with(&[("1", "in_progress", "bob", &[])]);
    let (mut guard, policy) = (Guard::default(), Policy::default());
    let idle = payload(&idle("bob"));
    let event = JudgedEvent {
        at: teamkeep_model::time::Timestamp::from_millis(0).unwrap(),
        kind: idle.kind(),
        actor: &mate("bob"),
        payload: &idle,
        access: None,
    };
    let rules = Rules::of(&[]);
    let mut evaluate = |scene: &Scene, findings: &[Finding]| {
        let input = EvaluationInput { event: &event, findings, policy: &policy, rules: &rules };
        crate::evaluate(input, &scene.team, &mut guard, |_| false).decisive().map(|verdict| verdict.decision)
    };
    let report = [finding(Gate::ReportBeforeIdle, "bob", Decision::Block)];
    for _ in 0..3 {
        assert_eq!(evaluate(&scene, &report), Some(Decision::Block));
    }
    assert_eq!(evaluate(&scene, &report), Some(Decision::Allow));
    scene.task(serde_json::json!({"id": "1", "subject": "a", "status": "completed", "owner": "bob"}));
    assert_eq!(evaluate(&scene, &[]), None);
    assert_eq!(
        evaluate(&scene, &report),
        Some(Decision::Block),
        "the call without a finding saw the progress"
    );
}
