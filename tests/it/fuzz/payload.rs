//! A payload on stdin: it becomes one line of JSON that readers parse as the hook did, and gates judge it.

use std::path::Path;
use std::sync::LazyLock;

use serde::de::IgnoredAny;
use teamkeep_config::{Config, Policy};
use teamkeep_model::event::Actor;
use teamkeep_model::payload::{self, AgentId, Input, Message, Payload, Spawn, TaskUpdate, shown_task};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{
    Case, Decision, EvaluationInput, Guard, JudgedEvent, Rules, Sent, TeamState, evaluate, judge,
};

pub fn run(data: &[u8]) {
    let payload = payload::parse(&Input::from(data.to_vec()));
    let line = payload.raw.get();
    assert!(!line.contains(['\n', '\r']) && serde_json::from_str::<IgnoredAny>(line).is_ok());
    if payload.malformed.is_some() {
        return;
    }
    let read = Payload::from_raw(&payload.raw);
    let seen = |one: &Payload| {
        let (event, session) = (one.event_name().map(str::to_owned), one.session().map(str::to_owned));
        (event, session, one.tool_name().map(str::to_owned), one.tool_input().clone())
    };
    assert_eq!(seen(&read), seen(&payload));
    let kind = payload.kind();
    let _ = (Sent::of(&payload), Spawn::of(&payload), shown_task(kind, &payload));
    let _ = Message::of(payload.tool_input(), payload.tool_response());
    let _ = TaskUpdate::of(payload.tool_input(), payload.tool_response());
    let _ = payload.agent_id().map(AgentId::parse);
    let (mut team, mut guard) = (team(), Guard::default());
    let (policy, rules) = (&*STRICT, Rules::of(&[]));
    for actor in [Actor::lead(), Actor::teammate("bob", None)] {
        let at = Timestamp::from_millis(1_795_000_000_000).unwrap();
        let event = JudgedEvent { at, kind, actor: &actor, payload: &payload, access: None };
        let findings = judge(policy, &rules, &Case::new(event, &team));
        let input = EvaluationInput { event: &event, findings: &findings, policy, rules: &rules };
        let evaluation = evaluate(input, &team, &mut guard, |_| false);
        let blocks = evaluation.decisive().is_some_and(|verdict| verdict.decision == Decision::Block);
        assert!(!blocks || kind.can_be_blocked(), "{kind:?} cannot be blocked");
        team.apply(&event, &evaluation.judgement());
    }
}

static STRICT: LazyLock<Policy> = LazyLock::new(strict);

fn strict() -> Policy {
    let gates = [
        "premature-shutdown",
        "idle-with-work",
        "report-before-idle",
        "unfinished-dependencies",
        "protect-lead",
        "lead-stops-early",
        "team-size",
        "edit-collision",
        "history-rewrite",
        "add-everything",
    ];
    let lines: String = gates.map(|gate| format!("{gate} = {{ mode = \"block\" }}\n")).concat();
    Config::parse(&format!("[policy]\nmax-blocks = 2\n{lines}"), Path::new("strict")).unwrap().policy
}

/// A lead, a busy teammate and one that waits for it.
fn team() -> TeamState {
    let mut team = TeamState { name: Some("t".to_owned()), ..TeamState::default() };
    team.members = ["team-lead", "bob", "carol"].map(str::to_owned).into();
    for (id, text) in [
        (
            "1",
            r#"{"id":"1","subject":"a","status":"in_progress","owner":"bob","blocks":["2"],"blockedBy":[]}"#,
        ),
        ("2", r#"{"id":"2","subject":"b","status":"pending","owner":"carol","blocks":[],"blockedBy":["1"]}"#),
    ] {
        let task = teamkeep_model::team::Task::parse(&format!("{id}.json"), text.as_bytes()).unwrap();
        team.tasks.insert(id.to_owned(), task);
    }
    team
}
