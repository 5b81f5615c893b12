//! Actions that stop a teammate, the lead or the team.

use serde_json::json;

use super::scene::{Scene, after, approve, ask, before, decide, lead, mate, payload};
use crate::{
    Change, Decision, Finding, Guard, JudgedEvent, Judgement, POLICY_FAILED, Sign, Unreadable, Verdict,
};
use teamkeep_config::{Mode, OnError};
use teamkeep_model::event::{Actor, ActorKind};
use teamkeep_model::time::Timestamp;

const BLOCK: Decision = Decision::Block;
const WARN: Decision = Decision::Warn;

fn busy() -> Scene {
    Scene::with(&[
        ("1", "completed", "alice", &[]),
        ("2", "in_progress", "bob", &[]),
        ("3", "pending", "carol", &[]),
    ])
}

fn asked(scene: &mut Scene, name: &str) -> Vec<(&'static str, Decision)> {
    scene.codes(&lead(), &before("SendMessage", ask(name)))
}

#[test]
fn a_busy_teammate_is_not_asked_to_stop_in_either_shape_or_spelling() {
    let mut scene = busy();
    for name in ["bob", "@bob", "bob@parser-team", " bob"] {
        assert_eq!(asked(&mut scene, name), [("shutdown-of-busy-teammate", BLOCK)], "{name}");
    }
    let old = json!({"type": "shutdown_request", "recipient": "bob", "content": "done"});
    assert_eq!(scene.codes(&lead(), &before("SendMessage", old)), [("shutdown-of-busy-teammate", BLOCK)]);
    let all = scene.judge(&lead(), &before("SendMessage", ask("*")));
    assert_eq!((all.len(), all[0].about.as_str()), (1, "bob"));
    assert!(asked(&mut scene, "alice").is_empty() && asked(&mut scene, "carol").is_empty());
    let plain = json!({"to": "bob", "message": "please send me a shutdown_request"});
    assert!(scene.codes(&lead(), &before("SendMessage", plain)).is_empty());
}

#[test]
fn a_busy_teammate_is_not_stopped_under_any_name() {
    let mut scene = busy();
    let spawn = json!({"hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_use_id": "t",
        "tool_input": {"name": "bob", "description": "Review it"},
        "tool_response": {"status": "teammate_spawned", "name": "bob", "agent_id": "abob-12"}});
    scene.happens(&lead(), &spawn);
    let running = json!({"hook_event_name": "Stop", "background_tasks": [
        {"id": "tq4g", "type": "teammate", "status": "running", "description": "Review it"}]});
    scene.happens(&lead(), &running);
    for id in ["bob", "bob@parser-team", "abob-12", "tq4g"] {
        let codes = scene.codes(&lead(), &before("TaskStop", json!({"task_id": id})));
        assert_eq!(codes, [("stop-of-busy-teammate", BLOCK)], "{id}");
    }
    assert!(scene.codes(&lead(), &before("TaskStop", json!({"task_id": "b77"}))).is_empty());
    scene.happens(&lead(), &after("TaskStop", json!({"task_id": "tq4g"})));
    assert!(scene.team.ledger.handles.is_empty() && !scene.team.ledger.members.contains_key("bob"));
}

#[test]
fn a_team_is_not_deleted_while_a_teammate_is_busy() {
    let mut scene = busy();
    let delete = before("TeamDelete", json!({}));
    let found = scene.judge(&lead(), &delete);
    assert_eq!((found[0].code, found[0].about.as_str()), ("deletion-of-busy-team", "team-lead"));
    assert!(found[0].text().contains("bob") && found[0].text().contains("task 2"));
    // An agent outside the roster is a member, unless it was seen to leave.
    scene.team.members.retain(|name| name == "team-lead");
    assert_eq!(scene.codes(&lead(), &delete), [("deletion-of-busy-team", BLOCK)]);
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SessionEnd"}));
    assert!(scene.codes(&lead(), &delete).is_empty());
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    assert_eq!(scene.codes(&lead(), &delete).len(), 1, "it is back");
    // The lead may delete its own work and unassigned work.
    for nobody in ["@", " "] {
        scene.task(json!({"id": "2", "status": "in_progress", "owner": nobody}));
        assert!(scene.codes(&lead(), &delete).is_empty(), "{nobody}");
    }
    scene.task(json!({"id": "2", "status": "pending"}));
    scene.task(json!({"id": "4", "status": "in_progress", "owner": "team-lead"}));
    assert!(scene.codes(&lead(), &delete).is_empty());
}

#[test]
fn settings_decide_what_is_unfinished_and_who_is_exempt() {
    let mut scene = busy();
    scene.policy.premature_shutdown.pending = true;
    assert_eq!(asked(&mut scene, "carol"), [("shutdown-of-busy-teammate", BLOCK)]);
    scene.policy.premature_shutdown.exempt = vec!["carol".to_owned()];
    assert!(asked(&mut scene, "carol").is_empty());
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStart"}));
    assert!(asked(&mut scene, "alice").is_empty());
    scene.policy.premature_shutdown.open_turn = true;
    assert_eq!(asked(&mut scene, "alice"), [("shutdown-of-busy-teammate", BLOCK)]);
    scene.happens(&mate("alice"), &json!({"hook_event_name": "SubagentStop"}));
    assert!(asked(&mut scene, "alice").is_empty());
    scene.policy.premature_shutdown.mode = Mode::Warn;
    assert_eq!(asked(&mut scene, "bob"), [("shutdown-of-busy-teammate", WARN)]);
    scene.policy.premature_shutdown.mode = Mode::Off;
    assert!(asked(&mut scene, "bob").is_empty());
}

#[test]
fn without_tasks_a_teammate_that_owes_a_report_counts_as_unfinished() {
    let mut scene = Scene::with(&[]);
    assert!(asked(&mut scene, "bob").is_empty(), "it was told nothing");
    scene.says(&lead(), "bob", "Review the parser.");
    assert_eq!(asked(&mut scene, "bob"), [("shutdown-without-report", WARN)]);
    assert_eq!(
        scene.codes(&lead(), &before("TaskStop", json!({"task_id": "bob"}))),
        [("stop-without-report", WARN)]
    );
    assert_eq!(scene.codes(&lead(), &before("TeamDelete", json!({}))), [("deletion-without-report", WARN)]);
    assert!(scene.codes(&mate("bob"), &before("SendMessage", approve("bob"))).is_empty());
    scene.says(&mate("bob"), "team-lead", "It is good.");
    assert!(asked(&mut scene, "bob").is_empty());
    scene.says(&lead(), "*", "Once more.");
    assert_eq!(asked(&mut scene, "bob"), [("shutdown-without-report", WARN)]);
    // Claude Code deletes the tasks of a team when all are completed. The team still had tasks.
    scene.happens(&lead(), &json!({"hook_event_name": "TaskCreated", "task_id": "1"}));
    assert!(asked(&mut scene, "bob").is_empty());
}

/// Decides on the lead's request to bob.
fn request(scene: &mut Scene, guard: &mut Guard, paused: bool) -> Option<Verdict> {
    let fields = before("SendMessage", ask("bob"));
    let found = scene.judge(&lead(), &fields);
    let finding: &Finding = found.first()?;
    let verdict = decide(finding, &scene.team.key(), guard, 2, paused);
    let (payload, actor) = (payload(&fields), lead());
    let kind = payload.kind();
    let event =
        JudgedEvent { at: Timestamp::default(), kind, actor: &actor, payload: &payload, access: None };
    if verdict.decision != BLOCK {
        scene.team.apply(&event, &Judgement { permitted: &["bob".to_owned()], ..Judgement::default() });
    }
    Some(verdict)
}

#[test]
fn an_approval_with_open_work_is_blocked_unless_its_request_was_allowed() {
    let (mut scene, mut guard) = (busy(), Guard::default());
    let answer = before("SendMessage", approve("bob"));
    assert_eq!(scene.codes(&mate("bob"), &answer), [("approval-with-open-work", BLOCK)]);
    // In old versions only the request names the agent that answers.
    assert_eq!(scene.codes(&Actor::unknown(), &answer), [("approval-with-open-work", BLOCK)]);
    let mut own = before("SendMessage", approve("alice"));
    own["agent_type"] = json!("alice");
    assert!(scene.codes(&mate("alice"), &own).is_empty());
    assert_eq!(request(&mut scene, &mut guard, false).unwrap().decision, BLOCK);
    assert_eq!(scene.codes(&mate("bob"), &answer).len(), 1, "a request that was blocked lets nobody go");
    assert!(request(&mut scene, &mut guard, true).unwrap().paused);
    assert!(scene.codes(&mate("bob"), &answer).is_empty());
    // A rejection ends the request and the permission.
    let refusal = json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": false}});
    scene.happens(&mate("bob"), &after("SendMessage", refusal));
    assert_eq!(scene.codes(&mate("bob"), &answer).len(), 1);
    request(&mut scene, &mut guard, false);
    assert!(request(&mut scene, &mut guard, false).unwrap().escalated);
    assert!(scene.codes(&mate("bob"), &answer).is_empty());
}

#[test]
fn the_lead_cannot_be_stopped() {
    let mut scene = Scene::with(&[]);
    for to in ["team-lead", "@team-lead", "Team-Lead", "team-lead@parser-team"] {
        assert_eq!(
            scene.codes(&mate("bob"), &before("SendMessage", ask(to))),
            [("shutdown-of-lead", BLOCK)],
            "{to}"
        );
    }
    assert_eq!(scene.codes(&mate("bob"), &before("SendMessage", ask("*"))), [("shutdown-of-lead", BLOCK)]);
    assert!(scene.codes(&lead(), &before("SendMessage", ask("*"))).is_empty());
    let own = scene.codes(&lead(), &before("SendMessage", approve("team-lead")));
    assert_eq!(own, [("shutdown-approved-by-lead", BLOCK)]);
    assert!(scene.codes(&mate("bob"), &before("SendMessage", approve("bob"))).is_empty());
    scene.policy.protect_lead.mode = Mode::Off;
    assert!(scene.codes(&mate("bob"), &before("SendMessage", ask("team-lead"))).is_empty());
}

#[test]
fn a_request_id_does_not_make_the_lead_a_teammate() {
    let mut scene = Scene::with(&[]);
    let transcript = Actor { name: Some("bob".to_owned()), id: None, kind: ActorKind::Teammate };
    let answer = before("SendMessage", approve("bob"));
    assert!(scene.codes(&transcript, &answer).is_empty(), "on an old client nothing else tells who it is");
    let mut tool = before("Read", json!({}));
    tool["agent_id"] = json!("aalice-1");
    scene.happens(&mate("alice"), &tool);
    assert_eq!(scene.codes(&transcript, &answer), [("shutdown-approved-by-lead", BLOCK)]);
    let mut pane = answer.clone();
    pane["agent_type"] = json!("general-purpose");
    assert!(scene.codes(&transcript, &pane).is_empty());
}

#[test]
fn a_request_to_an_absent_teammate_lists_the_teammates() {
    let mut scene = busy();
    let found = scene.judge(&lead(), &before("SendMessage", ask("bobby")));
    assert_eq!((found[0].code, found[0].decision), ("shutdown-of-absent-teammate", WARN));
    assert_eq!(
        found[0].text(),
        "Warning: a shutdown request to bobby, who is not in the team. Its teammates are alice, bob, carol."
    );
    scene.happens(&lead(), &after("TaskStop", json!({"task_id": "alice"})));
    scene.team.members.retain(|name| name != "alice");
    scene.team.tasks.remove("1");
    let found = scene.judge(&lead(), &before("SendMessage", ask("alice")));
    assert!(found[0].text().contains("alice, who has left the team. Its teammates are bob, carol."));
    // An agent that is being spawned is not in the roster, and without a roster it is unknown.
    scene.happens(&lead(), &before("Agent", json!({"name": "dave"})));
    assert!(asked(&mut scene, "dave").is_empty());
    scene.team.members.clear();
    assert!(asked(&mut scene, "bobby").is_empty());
    scene.policy.premature_shutdown.mode = Mode::Off;
    assert!(asked(&mut scene, "alice").is_empty());
}

#[test]
fn a_teammate_that_left_is_unknown_whatever_it_owns_and_however_it_is_written() {
    let mut scene = busy();
    scene.team.members.retain(|name| name != "bob");
    for word in ["bob", "Bob", "b\u{200b}ob", "bob@parser-team"] {
        assert_eq!(asked(&mut scene, word), [("shutdown-of-absent-teammate", WARN)], "{word:?}");
    }
    // Claude Code before 2.1.178 accepts the request.
    scene.happens(&lead(), &after("SendMessage", ask("bob")));
    assert_eq!(asked(&mut scene, "bob"), [("shutdown-of-absent-teammate", WARN)]);
    assert!(scene.codes(&lead(), &before("TaskStop", json!({"task_id": "bob"}))).is_empty());
    // Without a roster, the owner of a task counts as a member until it left.
    scene.team.members.clear();
    assert_eq!(asked(&mut scene, "bob"), [("shutdown-of-busy-teammate", BLOCK)]);
    scene.team.ledger.live.apply(Timestamp::default(), Change::sign("bob", Sign::Leaves));
    assert!(asked(&mut scene, "bob").is_empty());
}

#[test]
fn with_an_unreadable_file_one_finding_is_about_the_agent_that_cannot_be_judged() {
    let mut scene = Scene::with(&[]);
    let file = Unreadable { path: "tasks/parser-team/1.json".to_owned(), why: "no permission".to_owned() };
    scene.team.unreadable.push(file);
    let found = |scene: &mut Scene| -> Vec<(String, Decision)> {
        let findings = scene.judge(&lead(), &before("SendMessage", ask("bob")));
        assert!(findings.iter().all(|one| one.code == POLICY_FAILED), "{findings:?}");
        findings.into_iter().map(|one| (one.about, one.decision)).collect()
    };
    assert_eq!(found(&mut scene), [("bob".to_owned(), Decision::Warn)]);
    scene.policy.on_error = OnError::Block;
    assert_eq!(found(&mut scene), [("bob".to_owned(), Decision::Block)]);
}

#[test]
fn an_unreadable_file_is_about_the_actor_if_it_is_unknown_whom_the_action_stops() {
    let mut scene = busy();
    let file = Unreadable { path: "tasks/parser-team/9.json".to_owned(), why: "no permission".to_owned() };
    scene.team.unreadable.push(file);
    let about = |scene: &mut Scene, call: &serde_json::Value| {
        let mut found = scene.judge(&lead(), call);
        found.retain(|one| one.code == POLICY_FAILED);
        found.pop().map(|one| one.about)
    };
    let (one, all) = (before("SendMessage", ask("carol")), before("SendMessage", ask("*")));
    let delete = before("TeamDelete", json!({}));
    scene.task(json!({"id": "2", "status": "completed", "owner": "bob"}));
    assert_eq!(about(&mut scene, &one).as_deref(), Some("carol"));
    assert_eq!(about(&mut scene, &all).as_deref(), Some("team-lead"));
    assert_eq!(about(&mut scene, &delete).as_deref(), Some("team-lead"));
    scene.policy.premature_shutdown.exempt = vec!["carol".to_owned()];
    assert_eq!(about(&mut scene, &one), None, "it may stop whatever the file has");
    assert_eq!(about(&mut scene, &before("SendMessage", ask("dora"))), None, "it is not there");
    scene.team.members.clear();
    scene.team.tasks.clear();
    assert_eq!(about(&mut scene, &before("SendMessage", ask("dora"))).as_deref(), Some("team-lead"));
}

#[test]
fn a_request_to_everyone_is_counted_by_its_sender() {
    let mut scene = busy();
    let found = scene.judge(&lead(), &before("SendMessage", ask("*")));
    assert_eq!(found[0].counted.as_deref(), Some("* from team-lead"));
    assert_eq!(scene.judge(&lead(), &before("SendMessage", ask("bob")))[0].counted, None);
    assert!(asked(&mut scene, " ").is_empty(), "it has no recipient");
}

#[test]
fn a_task_that_no_known_list_has_is_reported_unless_there_is_open_work() {
    let mut scene = busy();
    scene.team.missing = vec!["7".to_owned()];
    insta::assert_snapshot!(scene.judge(&lead(), &before("SendMessage", ask("alice")))[0].text(), @"Warning: a shutdown request to alice; teamkeep cannot check open tasks: task 7 is not in a task list that hooks know. Check TaskList for open work first.");
    assert_eq!(asked(&mut scene, "bob"), [("shutdown-of-busy-teammate", BLOCK)]);
    assert_eq!(asked(&mut scene, "alice"), [("task-list-unknown", WARN)]);
}

#[test]
fn an_approval_that_is_not_a_teammates_is_blocked_only_for_the_lead() {
    let mut scene = busy();
    let own = scene.codes(&lead(), &before("SendMessage", approve("bob")));
    assert_eq!(own, [("shutdown-approved-by-lead", BLOCK)]);
    let unnamed = scene.codes(&Actor::unknown(), &before("SendMessage", approve("team-lead")));
    assert_eq!(unnamed, [("shutdown-approved-by-lead", BLOCK)]);
}
