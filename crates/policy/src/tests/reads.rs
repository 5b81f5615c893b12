//! Which hook calls read the team's files and the spending. Reading them is the most expensive part of a call, and most calls do not
//! concern a team. Wherever a test judges an event, it checks that only a call that reads the files has findings.

use serde_json::{Value, json};

use super::scene::{Scene, access, after, ask, before, idle, lead, mate, payload, strictest};
use crate::{Case, Decision, JudgedEvent, Rules, Unreadable, gates, reads_team};
use teamkeep_config::{Limit, LimitScope, Mode, OnError, Policy, Rule};
use teamkeep_model::event::Actor;

fn reads_files(policy: &Policy, rules: &[Rule], fields: &Value) -> bool {
    let payload = payload(fields);
    let (actor, access) = (lead(), access(&payload));
    let event = JudgedEvent {
        at: Default::default(),
        kind: payload.kind(),
        actor: &actor,
        payload: &payload,
        access: access.as_ref(),
    };
    reads_team(policy, &Rules::of(rules), &event)
}

fn reads_spending(policy: &Policy, fields: &Value) -> bool {
    let scene = Scene::with(&[]);
    let (payload, actor) = (payload(fields), lead());
    let event = JudgedEvent {
        at: Default::default(),
        kind: payload.kind(),
        actor: &actor,
        payload: &payload,
        access: None,
    };
    gates::budget::needs_spending(policy, &Case::new(event, &scene.team))
}

fn event(kind: &str) -> Value {
    json!({"hook_event_name": kind})
}

/// A policy with all gates off.
fn off() -> Policy {
    let mut policy = Policy::default();
    (policy.premature_shutdown.mode, policy.protect_lead.mode) = (Mode::Off, Mode::Off);
    (policy.idle_with_work.mode, policy.unfinished_dependencies.mode) = (Mode::Off, Mode::Off);
    (policy.report_before_idle.mode, policy.budget.mode) = (Mode::Off, Mode::Off);
    policy
}

fn limit(per: LimitScope) -> Limit {
    Limit { per, tokens: 100, usd: 0, warn_at: Some(80), block_at: Some(100) }
}

#[test]
fn only_what_a_gate_judges_reads_the_files() {
    let (mut policy, _) = strictest();
    let task = json!({"taskId": "1", "status": "completed"});
    let judged = [
        before("SendMessage", ask("bob")),
        before("TaskUpdate", task.clone()),
        before("Agent", json!({"name": "dora"})),
        before("TaskStop", json!({"task_id": "t1"})),
        before("Edit", json!({"file_path": "/1"})),
        before("Bash", json!({"command": "git reset --hard"})),
        event("Stop"),
        event("TaskCompleted"),
        idle("bob"),
    ];
    for call in &judged {
        assert!(reads_files(&policy, &[], call), "{call}");
    }
    for call in [
        before("Read", json!({"file_path": "/1"})),
        after("TaskUpdate", task.clone()),
        after("Edit", json!({"file_path": "/1"})),
        event("SubagentStart"),
        event("SessionStart"),
        event("SessionEnd"),
    ] {
        assert!(!reads_files(&policy, &[], &call), "{call}");
    }
    policy.budget.limit = vec![limit(LimitScope::Run)];
    assert!(!reads_files(&policy, &[], &after("TaskUpdate", task.clone())));
    policy.budget.limit = vec![limit(LimitScope::Task)];
    assert!(reads_files(&policy, &[], &after("TaskUpdate", task.clone())));
    assert!(!reads_files(&policy, &[], &after("TaskCreate", task)));
    let off = off();
    for call in judged.iter().filter(|call| call["hook_event_name"] == "PreToolUse") {
        assert!(!reads_files(&off, &[], call), "{call}");
    }
}

#[test]
fn a_file_or_git_reads_the_files_only_if_work_can_be_lost() {
    let (policy, _) = strictest();
    let call = before("Bash", json!({"command": "git reset --hard"}));
    let (payload, actor) = (payload(&call), lead());
    let mut found = access(&payload);
    let is_read = |access: Option<&crate::Access>| {
        let (at, kind) = (Default::default(), payload.kind());
        let event = JudgedEvent { at, kind, actor: &actor, payload: &payload, access };
        reads_team(&policy, &Rules::of(&[]), &event)
    };
    assert!(is_read(found.as_ref()) && !is_read(None));
    if let Some(crate::Access::Git(git)) = &mut found {
        git.losses.clear();
    }
    assert!(!is_read(found.as_ref()));
    let used = crate::Access::Used { path: "/1".to_owned(), state: None, is_change: true };
    assert!(!is_read(Some(&used)));
}

#[test]
fn a_rule_reads_the_files_at_its_events_and_tools() {
    let (_, rules) = strictest();
    let rule = |events: &[&str], tools: &[&str]| {
        let [events, tools] = [events, tools].map(|all| all.iter().map(|one| (*one).to_owned()).collect());
        vec![Rule { events, tools, ..rules[0].clone() }]
    };
    let off = off();
    let call = before("Write", json!({"file_path": "/1"}));
    assert!(reads_files(&off, &rule(&[], &["Wr*"]), &call));
    assert!(!reads_files(&off, &rule(&[], &["Edit"]), &call));
    assert!(!reads_files(&off, &rule(&["PostToolUse"], &[]), &call));
    assert!(reads_files(&off, &rule(&["PostToolUse"], &[]), &after("Write", json!({}))));
    assert!(!reads_files(&off, &rule(&[], &[]), &event("SessionStart")));
    assert!(reads_files(&off, &rule(&["SessionStart"], &[]), &event("SessionStart")));
}

#[test]
fn only_new_work_and_gates_that_assign_work_read_the_spending() {
    let mut policy = Policy::default();
    let (spawn, stop) = (before("Agent", json!({"name": "dora"})), event("Stop"));
    let all = |policy: &Policy| {
        let calls = [&spawn, &before("Read", json!({})), &after("Agent", json!({})), &idle("bob"), &stop];
        calls.map(|call| reads_spending(policy, call))
    };
    (policy.idle_with_work.mode, policy.lead_stops_early.mode) = (Mode::Block, Mode::Block);
    assert_eq!(all(&policy), [false; 5], "without a limit");
    policy.budget.limit = vec![limit(LimitScope::Run)];
    assert_eq!(all(&policy), [true, false, false, true, true]);
    policy.idle_with_work.mode = Mode::Warn;
    assert_eq!(all(&policy), [true, false, false, false, true]);
    policy.lead_stops_early.mode = Mode::Warn;
    assert_eq!(all(&policy), [true, false, false, false, false]);
}

/// What is found if a file of the team cannot be read.
fn unreadable(
    mode: Mode,
    on_error: OnError,
    actor: &Actor,
    call: &Value,
) -> Vec<(&'static str, Decision, String)> {
    let mut scene = Scene::with(&[("1", "in_progress", "alice", &[])]);
    (scene.policy, _) = strictest();
    scene.policy.team_size.most = 9;
    scene.policy.on_error = on_error;
    (scene.policy.idle_with_work.mode, scene.policy.report_before_idle.mode) = (mode, mode);
    (scene.policy.premature_shutdown.mode, scene.policy.team_size.mode) = (mode, mode);
    let why = "permission denied".to_owned();
    scene.team.unreadable = vec![Unreadable { path: "tasks/parser-team/2.json".to_owned(), why }];
    let found = scene.judge(actor, call).into_iter().filter(|one| one.code == "policy-failed");
    found.map(|one| (one.gate.name(), one.decision, one.about)).collect()
}

#[test]
fn a_file_that_cannot_be_read_warns_or_blocks_as_configured_at_what_is_judged_by_it() {
    let spawn = before("Agent", json!({"name": "dora"}));
    let carol = "carol".to_owned();
    let at_request =
        |mode, on_error| unreadable(mode, on_error, &lead(), &before("SendMessage", ask("carol")));
    let blocked = ("premature-shutdown", Decision::Block, carol.clone());
    assert_eq!(at_request(Mode::Block, OnError::Block), [blocked]);
    assert_eq!(at_request(Mode::Block, OnError::Allow)[0].1, Decision::Warn);
    assert_eq!(at_request(Mode::Warn, OnError::Block)[0].1, Decision::Warn);
    assert!(at_request(Mode::Off, OnError::Block).is_empty());
    // The end of a turn is not blocked by a failure. Of two gates, the first one reports it.
    let at_idle = unreadable(Mode::Block, OnError::Block, &mate("carol"), &idle("carol"));
    assert_eq!(at_idle, [("idle-with-work", Decision::Warn, carol)]);
    // A gate that only warns by what can be read reports it as well.
    let with_task = unreadable(Mode::Warn, OnError::Allow, &mate("alice"), &idle("alice"));
    assert_eq!(with_task, [("idle-with-work", Decision::Warn, "alice".to_owned())]);
    // A gate that blocks by what can be read does not report it.
    assert!(
        unreadable(Mode::Block, OnError::Block, &lead(), &before("SendMessage", ask("alice"))).is_empty()
    );
    let at_spawn = |mode| unreadable(mode, OnError::Block, &lead(), &spawn);
    assert_eq!(at_spawn(Mode::Block), [("team-size", Decision::Block, "team-lead".to_owned())]);
    assert!(at_spawn(Mode::Off).is_empty());
    let mut scene = Scene::with(&[]);
    scene.team.unreadable.push(Unreadable { path: String::new(), why: "no permission".to_owned() });
    scene.policy.team_size.mode = Mode::Block;
    assert!(scene.codes(&lead(), &spawn).is_empty(), "no number is set");
    scene.policy.team_size.most = 9;
    insta::assert_snapshot!(scene.judge(&lead(), &spawn)[0].text(), @"Warning: the policy cannot judge this, because teamkeep cannot read the team's files (no permission). Check TaskList first, and report this to the user.");
    scene.policy.on_error = OnError::Block;
    insta::assert_snapshot!(scene.judge(&lead(), &spawn)[0].text(), @r#"Blocked: the policy cannot judge this, because teamkeep cannot read the team's files (no permission). on-error = "block" blocks the action for it. Report this to the user, who can restore the file."#);
    let other = before("Bash", json!({"command": "ls"}));
    assert!(unreadable(Mode::Block, OnError::Block, &lead(), &other).is_empty());
}
