//! Limits on what a team spends.

use serde_json::{Value, json};

use super::scene::{Scene, after, approve, ask, before, decide, idle, lead, mate, payload};
use crate::spending::{PricedMessage, Spending};
use crate::{Case, Counting, Decision, Guard, JudgedEvent, MAX_LISTED, Rules, gates};
use teamkeep_config::{Limit, LimitScope, Mode};
use teamkeep_model::event::{Actor, ActorKind};
use teamkeep_model::team::Tokens;
use teamkeep_model::time::Timestamp;

const USD: u64 = 1_000_000;

fn limit(per: LimitScope, tokens: u32, usd: u64) -> Limit {
    Limit { per, tokens, usd, warn_at: Some(80), block_at: Some(100) }
}

/// alice works on a task, bob has gone idle without one.
fn scene(limits: &[Limit]) -> Scene {
    let mut scene = Scene::with(&[("1", "in_progress", "alice", &[])]);
    scene.policy.budget.limit = limits.to_vec();
    for name in ["alice", "bob"] {
        scene.happens(&mate(name), &json!({"hook_event_name": "SubagentStart"}));
        scene.happens(&mate(name), &json!({"hook_event_name": "SubagentStop"}));
        scene.happens(&mate(name), &idle(name));
    }
    scene
}

/// A message of the model at that second.
fn spends(scene: &mut Scene, name: &str, tokens: u64, usd: Option<f64>, second: i64) {
    let at = Some(second * 1_000);
    let moment = Timestamp::from_millis(second * 1_000).unwrap();
    let task = scene.team.ledger.live.held_at(name, moment).last().map(|(id, ..)| id.into());
    let tokens = Tokens { input: tokens, ..Tokens::default() };
    let message = PricedMessage { by: name.into(), task, at, tokens, usd };
    scene.team.spending.messages.push(message);
}

fn spawn(name: &str) -> Value {
    before("Agent", json!({"name": name, "prompt": "Work"}))
}

fn task() -> Value {
    before("TaskCreate", json!({"subject": "More"}))
}

fn message(to: &str) -> Value {
    before("SendMessage", json!({"to": to, "message": "Do more."}))
}

fn is_blocked(scene: &mut Scene, actor: &Actor, call: &Value) -> bool {
    scene.judge(actor, call).iter().any(|finding| finding.decision == Decision::Block)
}

#[test]
fn beyond_the_limit_only_new_work_is_blocked() {
    let mut scene = scene(&[limit(LimitScope::Run, 0, 2 * USD)]);
    spends(&mut scene, "alice", 1_000, Some(1.25), 1);
    spends(&mut scene, "team-lead", 500, Some(0.76), 2);
    let found = scene.judge(&lead(), &spawn("carol"));
    insta::assert_snapshot!(found[0].text(), @r#"Blocked: starting agent carol beyond the budget: the team spent $2.01 of $2.00 (100%): alice $1.25, team-lead $0.76. The transcripts end at 1970-01-01 00:00:02 UTC; later messages are not counted. Let the work in progress end, collect the results, and shut down the teammates that are done. Report the rest to the user, who can raise the limit or pause the gate "budget"."#);
    for call in [task(), spawn("carol"), message("bob")] {
        assert_eq!(scene.codes(&lead(), &call), [("budget-exhausted", Decision::Block)], "{call}");
        assert!(is_blocked(&mut scene, &mate("alice"), &call), "{call}");
    }
    let update = |status: &str| before("TaskUpdate", json!({"taskId": "1", "status": status}));
    for call in [
        message("alice"),
        message("team-lead"),
        message("*"),
        message("nobody"),
        before("SendMessage", ask("bob")),
        before("SendMessage", approve("bob")),
        before(
            "SendMessage",
            json!({"to": "bob", "message": {"type": "plan_approval_response", "approve": true}}),
        ),
        update("completed"),
        update("in_progress"),
        before("TaskStop", json!({"task_id": "x"})),
        before("Edit", json!({"file_path": "/repo/a"})),
        before("Bash", json!({"command": "cargo test"})),
        idle("alice"),
        json!({"hook_event_name": "Stop"}),
        json!({"hook_event_name": "TaskCompleted", "task_id": "1"}),
    ] {
        assert!(
            !scene.judge(&mate("alice"), &call).iter().any(|one| one.code.starts_with("budget")),
            "{call}"
        );
    }
}

#[test]
fn a_teammate_that_waits_for_an_answer_or_just_started_can_be_woken() {
    let mut scene = scene(&[limit(LimitScope::Run, 10, 0)]);
    spends(&mut scene, "bob", 10, None, 1);
    assert!(is_blocked(&mut scene, &lead(), &message("bob")));
    scene.says(&mate("bob"), "team-lead", "Which file?");
    assert!(!is_blocked(&mut scene, &lead(), &message("bob")), "it asked");
    scene.says(&lead(), "bob", "That one.");
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    assert!(!is_blocked(&mut scene, &lead(), &message("bob")), "it works");
    assert!(!is_blocked(&mut scene, &lead(), &message("carol")), "it was never idle");
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&mate("bob"), &idle("bob"));
    scene.happens(&lead(), &after("SendMessage", ask("bob")));
    assert!(!is_blocked(&mut scene, &lead(), &message("bob")), "it shuts down");
}

#[test]
fn the_lead_is_warned_once_for_each_limit_and_level() {
    let mut scene = scene(&[limit(LimitScope::Run, 1_000, 0), limit(LimitScope::Agent, 0, 10 * USD)]);
    let mut guard = Guard::default();
    let mut shown = |scene: &mut Scene, actor: &Actor| {
        let found = scene.judge(actor, &message("alice"));
        let state = scene.team.key();
        let counting = Counting { state: &state, max_blocks: 3, at: 0, ends_turn: true };
        let verdicts = crate::decide(&found, &mut guard, &counting, |_| false).verdicts;
        let shown = verdicts.iter().map(|verdict| format!("{} {}", verdict.code, verdict.text()));
        shown.collect::<Vec<_>>()
    };
    spends(&mut scene, "alice", 799, Some(1.0), 1);
    assert!(shown(&mut scene, &lead()).is_empty());
    spends(&mut scene, "bob", 1, None, 2);
    assert!(shown(&mut scene, &mate("alice")).is_empty(), "only the lead is warned");
    insta::assert_snapshot!(shown(&mut scene, &lead()).join("\n"), @"budget-warning Warning: the team spent 800 of 1,000 tokens (80%): alice 799, bob 1. The transcripts end at 1970-01-01 00:00:02 UTC; later messages are not counted. At 100% new agents, new tasks and messages that wake an idle teammate are blocked.");
    spends(&mut scene, "bob", 50, Some(0.5), 3);
    scene.task(json!({"id": "9", "status": "pending"}));
    assert!(shown(&mut scene, &lead()).is_empty(), "also in another state of the work");
    spends(&mut scene, "bob", 0, Some(7.5), 3);
    spends(&mut scene, "bob", 150, None, 4);
    insta::assert_snapshot!(shown(&mut scene, &lead()).join("\n"), @r"
    budget-exhausted Warning: the team spent 1,000 of 1,000 tokens (100%): alice 799, bob 201. The transcripts end at 1970-01-01 00:00:04 UTC; later messages are not counted. From now on new agents, new tasks and messages that wake an idle teammate are blocked.
    budget-warning Warning: bob spent $8.00 of $10.00 (80%). Not counted: 2 messages without a price for the model. The transcripts end at 1970-01-01 00:00:04 UTC; later messages are not counted. At 100% new agents, new tasks and messages that wake an idle teammate are blocked.
    ");
    assert!(shown(&mut scene, &lead()).is_empty());
}

#[test]
fn the_limit_of_an_agent_concerns_what_it_starts_and_what_starts_it() {
    let mut scene = scene(&[limit(LimitScope::Agent, 100, 0)]);
    spends(&mut scene, "bob", 100, None, 1);
    assert!(is_blocked(&mut scene, &lead(), &message("bob")));
    assert!(is_blocked(&mut scene, &lead(), &spawn("bob")));
    assert!(is_blocked(&mut scene, &mate("bob"), &spawn("carol")));
    assert!(is_blocked(&mut scene, &mate("bob"), &task()));
    assert!(!is_blocked(&mut scene, &lead(), &spawn("carol")));
    assert!(!is_blocked(&mut scene, &lead(), &task()));
    assert!(!is_blocked(&mut scene, &mate("alice"), &task()));
}

#[test]
fn the_limit_of_an_hour_counts_the_last_hour() {
    let mut scene = scene(&[limit(LimitScope::Hour, 100, 0)]);
    spends(&mut scene, "bob", 100, None, -3_600);
    assert!(!is_blocked(&mut scene, &lead(), &task()));
    spends(&mut scene, "bob", 100, None, -3_000);
    assert!(is_blocked(&mut scene, &lead(), &task()));
    scene.team.spending.messages[1].at = None;
    assert!(!is_blocked(&mut scene, &lead(), &task()), "a message without a time");
}

#[test]
fn an_hour_goes_on_past_midnight_and_ends_although_the_clock_was_set_back() {
    let mut scene = scene(&[limit(LimitScope::Hour, 100, 0)]);
    let midnight = 20_000 * 24 * 3_600;
    let is_blocked = |scene: &Scene, second: i64| {
        let now = Timestamp::from_millis((midnight + second) * 1_000).unwrap();
        let shown = gates::budget::summaries(&scene.policy, &scene.team.spending, now);
        shown == ["hour: 100 of 100 tokens (100%)"]
    };
    spends(&mut scene, "alice", 60, None, midnight - 1_200);
    spends(&mut scene, "bob", 40, None, midnight + 1_200);
    let found = [-1_200, 1_199, 1_200, 2_399, 2_400].map(|second| is_blocked(&scene, second));
    assert_eq!(found, [true, true, true, true, false]);
    // Set back by an hour, the messages are in the future.
    assert_eq!([-2_399, -2_400].map(|second| is_blocked(&scene, second)), [true, false]);
}

#[test]
fn the_limit_of_a_task_counts_its_owner_meanwhile_and_concerns_what_the_owner_starts() {
    let mut scene = scene(&[limit(LimitScope::Task, 100, 0)]);
    let update = |status: &str| after("TaskUpdate", json!({"taskId": "1", "status": status}));
    spends(&mut scene, "alice", 500, None, 1);
    scene.happens(&mate("alice"), &update("in_progress"));
    let now = scene.now();
    spends(&mut scene, "alice", 99, None, now);
    spends(&mut scene, "bob", 500, None, now);
    assert!(!is_blocked(&mut scene, &mate("alice"), &task()));
    spends(&mut scene, "alice", 1, None, now);
    insta::assert_snapshot!(scene.judge(&mate("alice"), &task())[0].text(), @r#"Blocked: creating a task beyond the budget: task 1 spent 100 of 100 tokens (100%): alice 100. The transcripts end at 1970-01-01 00:00:07 UTC; later messages are not counted. Finish the work in progress and report to the lead. The user can raise the limit or pause the gate "budget"."#);
    assert!(is_blocked(&mut scene, &mate("alice"), &spawn("carol")));
    assert!(!is_blocked(&mut scene, &mate("bob"), &task()), "it has another task");
    assert!(!is_blocked(&mut scene, &lead(), &spawn("carol")));
    assert!(!is_blocked(&mut scene, &lead(), &message("bob")));
    insta::assert_snapshot!(scene.judge(&lead(), &message("alice"))[0].text(), @"Warning: task 1 spent 100 of 100 tokens (100%): alice 100. The transcripts end at 1970-01-01 00:00:07 UTC; later messages are not counted. From now on new agents and new tasks of its owner are blocked.");
    scene.task(json!({"id": "1", "status": "completed", "owner": "alice"}));
    scene.happens(&mate("alice"), &update("completed"));
    assert!(!is_blocked(&mut scene, &mate("alice"), &task()), "the task is done");
}

#[test]
fn without_a_limit_per_task_no_tasks_are_stored() {
    let mut scene = scene(&[limit(LimitScope::Run, 100, 0)]);
    let started = after("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}));
    scene.happens(&mate("alice"), &started);
    assert!(scene.team.ledger.live.tasks.is_empty());
    scene.policy.budget.limit[0].per = LimitScope::Task;
    scene.happens(&mate("alice"), &started);
    assert!(!scene.team.ledger.live.tasks.is_empty());
    scene.policy.budget.mode = Mode::Off;
    scene.happens(&Actor::teammate("dora", Some("a1")), &started);
    assert!(scene.team.ledger.agent_names.is_empty());
    scene.policy.budget.mode = Mode::Warn;
    scene.happens(&Actor::teammate("dora", Some("a1")), &started);
    assert_eq!(scene.team.ledger.agent_names["a1"], "dora");
}

#[test]
fn an_agent_that_the_call_does_not_name_is_warned_because_it_may_be_the_lead() {
    let mut scene = scene(&[limit(LimitScope::Run, 1_000, 0)]);
    spends(&mut scene, "alice", 800, None, 1);
    assert_eq!(scene.codes(&Actor::unknown(), &task()), [("budget-warning", Decision::Warn)]);
    assert!(scene.codes(&mate("alice"), &task()).is_empty());
}

#[test]
fn without_block_at_or_in_the_mode_warn_nothing_is_blocked() {
    let never = Limit { block_at: None, ..limit(LimitScope::Run, 10, 0) };
    let mut scene = scene(&[never]);
    spends(&mut scene, "bob", 50, None, 1);
    assert_eq!(scene.codes(&lead(), &spawn("carol")), [("budget-warning", Decision::Warn)]);
    scene.policy.budget.limit[0].block_at = Some(100);
    scene.policy.budget.mode = Mode::Warn;
    assert_eq!(scene.codes(&lead(), &spawn("carol")), [("budget-exhausted", Decision::Warn)]);
    scene.policy.budget.mode = Mode::Off;
    assert!(scene.codes(&lead(), &spawn("carol")).is_empty());
}

#[test]
fn beyond_the_limit_other_gates_let_the_work_end() {
    let mut scene = scene(&[limit(LimitScope::Run, 10, 0)]);
    scene.policy.idle_with_work.mode = Mode::Block;
    scene.policy.lead_stops_early.mode = Mode::Block;
    scene.task(json!({"id": "2", "status": "pending"}));
    let stop = json!({"hook_event_name": "Stop"});
    assert!(is_blocked(&mut scene, &mate("bob"), &idle("bob")));
    assert!(is_blocked(&mut scene, &lead(), &stop));
    spends(&mut scene, "bob", 10, None, 1);
    assert_eq!(scene.codes(&mate("bob"), &idle("bob")), [("idle-with-free-task", Decision::Warn)]);
    assert_eq!(scene.codes(&lead(), &stop), [("lead-stops-with-open-work", Decision::Warn)]);
    assert!(is_blocked(&mut scene, &mate("alice"), &idle("alice")), "its own task in progress");
}

#[test]
fn the_loop_guard_allows_new_work_after_three_blocks() {
    let mut scene = scene(&[limit(LimitScope::Run, 10, 0)]);
    spends(&mut scene, "bob", 10, None, 1);
    let mut guard = Guard::default();
    let mut attempt = || {
        let found = scene.judge(&lead(), &spawn("carol"));
        decide(&found[0], "", &mut guard, 3, false).word()
    };
    assert_eq!(
        [attempt(), attempt(), attempt(), attempt()],
        ["block", "block", "block", "allow after blocks"]
    );
}

#[test]
fn other_gates_block_as_before_if_the_budget_only_warns_or_another_agent_is_beyond_its_limit() {
    let mut scene = scene(&[limit(LimitScope::Agent, 10, 0)]);
    scene.policy.idle_with_work.mode = Mode::Block;
    scene.task(json!({"id": "2", "status": "pending"}));
    spends(&mut scene, "alice", 10, None, 1);
    assert!(is_blocked(&mut scene, &mate("bob"), &idle("bob")), "alice is beyond its limit, and not bob");
    spends(&mut scene, "bob", 10, None, 1);
    assert!(!is_blocked(&mut scene, &mate("bob"), &idle("bob")));
    scene.policy.budget.mode = Mode::Warn;
    assert!(is_blocked(&mut scene, &mate("bob"), &idle("bob")), "new work is allowed");
}

#[test]
fn a_subagent_with_the_name_of_a_teammate_is_noted_apart_from_it() {
    let mut scene = scene(&[limit(LimitScope::Run, 10, 0)]);
    let subagent = |name: &str, id: &str| Actor {
        name: Some(name.to_owned()),
        id: Some(id.to_owned()),
        kind: ActorKind::Subagent,
    };
    let start = json!({"hook_event_name": "SubagentStart"});
    scene.happens(&subagent("bob", "a1"), &start);
    scene.happens(&subagent("Explore", "a2"), &start);
    let noted: Vec<_> = scene.team.ledger.agent_names.iter().collect();
    assert_eq!(noted, [(&"a1".to_owned(), &"bob (subagent)".to_owned())]);
}

#[test]
fn the_use_of_each_limit_is_one_line() {
    let limits = [limit(LimitScope::Run, 0, USD / 2), limit(LimitScope::Agent, 0, USD)];
    let mut scene = scene(&limits);
    spends(&mut scene, "alice", 1, Some(0.25), 1);
    let shown = gates::budget::summaries(&scene.policy, &scene.team.spending, Timestamp::default());
    assert_eq!(shown, ["run: $0.2500 of $0.5000 (50%)", "agent alice: $0.25 of $1.00 (25%)"]);
}

#[test]
fn a_reason_lists_few_agents_and_the_transcripts_that_are_not_read_yet() {
    let mut scene = scene(&[limit(LimitScope::Run, 10, 0)]);
    let mut text = |agents: u64, unread: u64| {
        scene.team.spending = Spending { unread, ..Spending::default() };
        for agent in 0..agents {
            spends(&mut scene, &format!("a{agent}"), 100 - agent, None, 1);
        }
        scene.judge(&lead(), &spawn("carol"))[0].text()
    };
    let most = u64::try_from(MAX_LISTED).unwrap();
    assert!(!text(most, 0).contains(" more") && !text(most, 0).contains("Not counted"));
    let whole = text(most + 2, (3 << 20) + 1);
    assert!(whole.contains(", 2 more. Not counted: 4 MiB of transcripts that are not read yet."), "{whole}");
}

#[test]
fn the_warning_of_an_hour_comes_once_in_an_hour() {
    let mut scene = scene(&[limit(LimitScope::Hour, 10, 0)]);
    spends(&mut scene, "alice", 9, None, 3_500);
    let payload = payload(&task());
    let key = |second: i64| {
        let (at, actor) = (Timestamp::from_millis(second * 1_000).unwrap(), lead());
        let event = JudgedEvent { at, kind: payload.kind(), actor: &actor, payload: &payload, access: None };
        let found = gates::judge(&scene.policy, &Rules::of(&[]), &Case::new(event, &scene.team));
        found.into_iter().next().unwrap().once.unwrap()
    };
    assert_eq!(key(3_501), key(3_599));
    assert_ne!(key(3_599), key(3_600));
}
