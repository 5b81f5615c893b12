//! Properties that hold for any events, tasks and settings.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::scene::{access, approve, ask, decide, judge_and_check_reads, payload, strictest};
use crate::{Case, Decision, Guard, JudgedEvent, Judgement, Rules, TeamState, judge};
use teamkeep_config::Gate;
use teamkeep_model::event::{Actor, ActorKind};
use teamkeep_model::payload::EventKind;
use teamkeep_model::team::Task;
use teamkeep_model::time::Timestamp;

const NAMES: [&str; 4] = ["team-lead", "alice", "bob", "carol"];
const COMMANDS: [&str; 4] =
    ["git add -A", "git commit -am x", "git commit --amend", "git -C /1 reset --hard HEAD~1"];
const BLOCKING: [&str; 6] =
    ["PreToolUse", "TeammateIdle", "TaskCreated", "TaskCompleted", "SubagentStop", "Stop"];

/// Any text, including control characters.
fn text() -> impl Strategy<Value = String> {
    let letter = prop_oneof![3 => any::<char>(), 1 => proptest::char::range('\0', '~')];
    proptest::collection::vec(letter, 0..120).prop_map(String::from_iter)
}

/// A task file with arbitrary content.
fn task() -> impl Strategy<Value = Value> {
    let status =
        prop_oneof![Just("pending"), Just("in_progress"), Just("completed"), Just("strange\nstatus")];
    let owner = prop_oneof![4 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => text()];
    let waits = proptest::collection::vec(0..4u8, 0..3);
    (0..4u8, status, owner, waits, text(), any::<bool>()).prop_map(|(id, status, owner, waits, subject, said)| {
        let waits: Vec<String> = waits.iter().map(u8::to_string).collect();
        json!({"id": id.to_string(), "status": status, "owner": owner, "blockedBy": waits, "subject": subject, "metadata": {"waiting": said}})
    })
}

fn parsed(raw: &Value) -> Option<Task> {
    Task::parse(&format!("{}.json", raw["id"].as_str()?), raw.to_string().as_bytes())
}

fn actor() -> impl Strategy<Value = Actor> {
    let name = prop_oneof![6 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => text()];
    let kind = prop_oneof![1 => Just(ActorKind::Lead), 4 => Just(ActorKind::Teammate), 1 => Just(ActorKind::Subagent), 1 => Just(ActorKind::Unknown)];
    (proptest::option::weighted(0.9, name), kind).prop_map(|(name, kind)| Actor { name, id: None, kind })
}

/// A tool call.
fn call() -> impl Strategy<Value = (String, Value)> {
    let name = prop_oneof![6 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => Just("*".to_owned()), 1 => Just("t1".to_owned()), 1 => text()];
    (name, 0..12u8, 0..4u8, text()).prop_map(|(name, which, id, text)| {
        let (tool, input) = match which {
            0 => ("SendMessage", ask(&name)),
            1 => ("SendMessage", approve(&name)),
            2 => ("SendMessage", json!({"to": name, "message": text})),
            3 => ("TaskStop", json!({"task_id": name})),
            4 => ("TeamDelete", json!({})),
            5 => ("TaskUpdate", json!({"taskId": id.to_string(), "status": "completed", "owner": name})),
            6 => ("TaskUpdate", json!({"taskId": id.to_string(), "status": "in_progress"})),
            7 => ("Agent", json!({"name": name, "subagent_type": text, "model": text})),
            8 => ("Bash", json!({"command": text})),
            11 => ("Bash", json!({"command": COMMANDS[usize::from(id)]})),
            9 => ("Read", json!({"file_path": format!("/{id}/{text}")})),
            _ => ("Edit", json!({"file_path": format!("/{id}")})),
        };
        (tool.to_owned(), input)
    })
}

/// A payload: any event with any call, including events that cannot be blocked.
fn event() -> impl Strategy<Value = Value> {
    let others = [
        "PostToolUse",
        "SubagentStart",
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "FileChanged",
        "NewEvent",
    ];
    let kinds: Vec<&str> = BLOCKING.iter().copied().chain(others).collect();
    let name = proptest::sample::select(&NAMES[..]);
    let kind =
        prop_oneof![2 => Just("PreToolUse"), 1 => Just("TeammateIdle"), 3 => proptest::sample::select(kinds)];
    (kind, call(), name, 0..4u8, any::<bool>()).prop_map(|(kind, (tool, input), name, id, success)| {
        json!({"hook_event_name": kind, "tool_name": tool, "tool_input": input, "tool_use_id": id.to_string(),
            "tool_response": {"success": success, "status": "teammate_spawned", "name": name},
            "teammate_name": name, "task_id": id.to_string(), "background_tasks": [{"id": "t1", "type": "teammate", "status": "running", "description": id.to_string()}]})
    })
}

/// One step: files may change, then an event happens.
type Step = (Option<Value>, Actor, Value);

/// Number of blocks since the last progress, by gate, rule, subject and state.
type Counts = BTreeMap<(String, Option<String>, String, String), u32>;

/// Runs the steps as a hook does, and checks each verdict.
fn play(steps: &[Step], most: u32) -> Result<(), TestCaseError> {
    let (policy, rules) = strictest();
    let mut team = TeamState { members: NAMES.map(str::to_owned).into(), ..TeamState::default() };
    let (mut guard, mut counts, mut done) = (Guard::default(), Counts::new(), 0);
    for (place, (file, actor, fields)) in steps.iter().enumerate() {
        if let Some(task) = file.as_ref().and_then(parsed) {
            team.tasks.insert(task.id.clone(), task);
        }
        let (at, payload) = (Timestamp::from_millis(place as i64).unwrap(), payload(fields));
        let access = access(&payload);
        let event =
            JudgedEvent { at, kind: payload.kind(), actor, payload: &payload, access: access.as_ref() };
        let found = judge_and_check_reads(&policy, &Rules::of(&rules), &event, &team);
        let can_block = BLOCKING.iter().any(|name| EventKind::named(name) == event.kind);
        prop_assert!(can_block || found.is_empty(), "{:?}: {found:?}", event.kind);
        prop_assert!(found.is_sorted_by(|one, other| one.decision >= other.decision));
        let (state, mut blocked) = (team.key(), false);
        guard.note_progress(&team);
        if guard.completed.len() > done {
            (done, counts) = (guard.completed.len(), Counts::new());
        }
        for finding in &found {
            prop_assert!(finding.text().chars().count() <= 600, "{}", finding.text());
            prop_assert!(!finding.text().chars().any(char::is_control), "{:?}", finding.text());
            prop_assert!(finding.decision != Decision::Allow);
            let verdict = decide(finding, &state, &mut guard, most, false);
            if verdict.gate == Gate::PrematureShutdown.name() && verdict.decision != Decision::Block {
                let permitted = [finding.about.clone()];
                team.apply(&event, &Judgement { permitted: &permitted, ..Judgement::default() });
            }
            prop_assert!(verdict.decision <= finding.decision);
            let (gate, rule) = (finding.gate.name().to_owned(), finding.rule.clone());
            let whose = finding.counted.as_ref().unwrap_or(&finding.about);
            let count = counts.entry((gate, rule, whose.clone(), state.clone())).or_default();
            if verdict.decision == Decision::Block {
                *count += u32::from(!finding.lasting);
                blocked = true;
            }
            prop_assert!(*count <= most, "{finding:?}");
            let asks_to_last = matches!(finding.rule.as_deref(), Some("two" | "three"));
            let is_lasting = asks_to_last && event.kind == EventKind::PreToolUse;
            prop_assert_eq!(finding.lasting, is_lasting);
            prop_assert!(!is_lasting || verdict.decision == finding.decision, "{:?}", verdict);
            let whole =
                counts.iter().filter(|(key, _)| (key.0.as_str(), &key.2) == (finding.gate.name(), whose));
            prop_assert!(whole.map(|(_, count)| *count).sum::<u32>() <= 3 * most, "{finding:?}");
            if blocked {
                break;
            }
        }
        if !blocked {
            team.apply(&event, &Judgement::default());
        }
    }
    Ok(())
}

/// Repeating the same event is allowed in the end, unless a lasting rule blocks it.
fn ends(step: &Step, tasks: &[Value], most: u32) -> Result<(), TestCaseError> {
    let (policy, rules) = strictest();
    let mut team = TeamState { members: NAMES.map(str::to_owned).into(), ..TeamState::default() };
    let tasks = tasks.iter().filter_map(parsed);
    team.tasks = tasks.map(|task| (task.id.clone(), task)).collect();
    let (payload, mut guard, state) = (payload(&step.2), Guard::default(), team.key());
    let access = access(&payload);
    let kind = payload.kind();
    let event = JudgedEvent {
        at: Timestamp::default(),
        kind,
        actor: &step.1,
        payload: &payload,
        access: access.as_ref(),
    };
    let found = judge(&policy, &Rules::of(&rules), &Case::new(event, &team));
    let mut blocked = || {
        found
            .iter()
            .filter(|finding| !finding.lasting)
            .any(|finding| decide(finding, &state, &mut guard, most, false).decision == Decision::Block)
    };
    let blocks = (0..100).take_while(|_| blocked()).count();
    prop_assert!(blocks <= found.len() * most as usize);
    Ok(())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((proptest::option::weighted(0.2, task()), actor(), event()), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blocks_are_limited_and_only_at_events_that_can_be_blocked(steps in steps(), most in 0..4u32) {
        play(&steps, most)?;
    }

    #[test]
    fn repeating_an_action_is_allowed_in_the_end(
        actor in actor(),
        event in event(),
        tasks in proptest::collection::vec(task(), 0..6),
        most in 0..4u32,
    ) {
        ends(&(None, actor, event), &tasks, most)?;
    }
}
