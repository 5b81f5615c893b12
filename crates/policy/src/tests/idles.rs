//! Idle, and the end of the lead's turn.

use serde_json::json;

use super::scene::{Scene, after, ask, decide, idle, lead, mate};
use crate::ledger::mark;
use crate::{Decision, Guard};
use teamkeep_config::Mode;

const WARN: Decision = Decision::Warn;

fn held() -> Scene {
    Scene::with(&[("1", "in_progress", "alice", &[]), ("2", "in_progress", "bob", &[])])
}

fn idles(scene: &mut Scene, name: &str) -> Vec<(&'static str, Decision)> {
    scene.codes(&mate(name), &idle(name))
}

#[test]
fn idling_with_a_task_in_progress_or_a_free_task_is_found() {
    let mut scene = held();
    assert_eq!(idles(&mut scene, "bob"), [("idle-with-task-in-progress", WARN)]);
    assert!(idles(&mut scene, "carol").is_empty());
    scene.task(json!({"id": "3", "status": "pending", "blockedBy": ["1"]}));
    assert!(idles(&mut scene, "carol").is_empty(), "the free task waits for another");
    scene.task(json!({"id": "4", "status": "pending"}));
    assert_eq!(idles(&mut scene, "carol"), [("idle-with-free-task", WARN)]);
    scene.policy.idle_with_work.mode = Mode::Block;
    assert_eq!(idles(&mut scene, "carol"), [("idle-with-free-task", Decision::Block)]);
    scene.policy.idle_with_work.mode = Mode::Off;
    assert!(idles(&mut scene, "carol").is_empty());
}

#[test]
fn a_task_that_changes_its_owner_again_and_again_does_not_block_forever() {
    let (mut scene, mut guard) = (Scene::with(&[("2", "in_progress", "carol", &[])]), Guard::default());
    scene.policy.idle_with_work.mode = Mode::Block;
    let mut blocks = |owners: &[&str], status: &str| {
        scene.task(json!({"id": "3", "status": status, "owner": "alice"}));
        let mut blocks = 0;
        for owner in owners.iter().cycle().take(20) {
            let status = if owner.is_empty() { "pending" } else { "in_progress" };
            scene.task(json!({"id": "1", "status": status, "owner": owner}));
            guard.note_progress(&scene.team);
            for finding in scene.judge(&mate("bob"), &idle("bob")) {
                let verdict = decide(&finding, &scene.team.key(), &mut guard, 3, false);
                blocks += usize::from(verdict.decision == Decision::Block);
            }
        }
        blocks
    };
    assert_eq!(blocks(&["bob", ""], "pending"), 1);
    assert_eq!(blocks(&["bob", ""], "in_progress"), 0, "once while nothing is completed");
    assert_eq!(blocks(&["bob", ""], "completed"), 1);
    assert_eq!(blocks(&["bob"], "deleted"), 0);
}

#[test]
fn a_teammate_that_waits_for_a_task_may_go_idle() {
    let mut scene = held();
    scene.task(json!({"id": "2", "status": "in_progress", "owner": "bob", "blockedBy": ["1"]}));
    assert!(idles(&mut scene, "bob").is_empty());
    // A pending task is not work in progress.
    scene.task(json!({"id": "3", "status": "pending", "owner": "bob"}));
    assert!(idles(&mut scene, "bob").is_empty());
    scene.task(json!({"id": "4", "status": "in_progress", "owner": "bob"}));
    let found = scene.judge(&mate("bob"), &idle("bob"));
    assert!(found[0].text().contains("task 4") && !found[0].text().contains("task 2"));
}

#[test]
fn a_teammate_that_marks_its_task_as_waiting_may_go_idle() {
    let mut scene = held();
    let task = |said: serde_json::Value| json!({"id": "2", "status": "in_progress", "owner": "bob", "metadata": said});
    for said in [json!({"waiting": true}), json!({"waiting": "for the build"})] {
        scene.task(task(said));
        assert!(idles(&mut scene, "bob").is_empty());
    }
    for said in [
        json!({"waiting": false}),
        json!({"waiting": ""}),
        json!({"waiting": null}),
        json!({"on-hold": true}),
    ] {
        scene.task(task(said));
        assert_eq!(idles(&mut scene, "bob").len(), 1);
    }
    scene.policy.idle_with_work.waiting_key = "on-hold".to_owned();
    assert!(idles(&mut scene, "bob").is_empty());
}

#[test]
fn a_teammate_that_waits_for_an_answer_may_go_idle_until_it_comes() {
    let mut scene = held();
    scene.says(&lead(), "bob", "Go on.");
    scene.says(&mate("bob"), "alice", "Which grammar do you mean?");
    assert!(idles(&mut scene, "bob").is_empty());
    scene.says(&mate("alice"), "bob", "The second.");
    assert_eq!(idles(&mut scene, "bob").len(), 1);
    scene.says(&mate("bob"), "alice", "Thanks.");
    assert_eq!(idles(&mut scene, "bob").len(), 1);
}

#[test]
fn a_teammate_with_mail_or_a_shutdown_request_may_go_idle() {
    let mut scene = held();
    scene.policy.report_before_idle.mode = Mode::Block;
    scene.policy.idle_with_work.mode = Mode::Block;
    scene.says(&lead(), "bob", "Go on.");
    assert_eq!(idles(&mut scene, "bob").len(), 2);
    scene.team.mail.insert("bob".to_owned(), 1);
    assert!(idles(&mut scene, "bob").is_empty());
    scene.team.mail.clear();
    scene.happens(&lead(), &after("SendMessage", ask("bob")));
    assert!(idles(&mut scene, "bob").is_empty());
}

#[test]
fn a_child_that_goes_idle_is_not_its_parent() {
    let mut scene = held();
    let mut child = idle("bob");
    (child["agent_id"], child["agent_type"]) = (json!("a53bab"), json!("Explore"));
    assert!(scene.codes(&mate("bob"), &child).is_empty());
    child["agent_type"] = json!("bob");
    assert_eq!(scene.codes(&mate("bob"), &child).len(), 1);
    // In a pane the payload has the agent's type and no id.
    let mut pane = idle("bob");
    pane["agent_type"] = json!("general-purpose");
    assert_eq!(scene.codes(&mate("bob"), &pane).len(), 1);
    // Its own turn continues.
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    assert!(idles(&mut scene, "bob").is_empty());
}

#[test]
fn idling_without_a_report_is_found_where_that_is_on() {
    let mut scene = Scene::with(&[]);
    scene.says(&lead(), "bob", "Review it.");
    assert!(idles(&mut scene, "bob").is_empty());
    scene.policy.report_before_idle.mode = Mode::Block;
    assert_eq!(idles(&mut scene, "bob"), [("idle-without-report", Decision::Block)]);
    scene.says(&mate("bob"), "team-lead", "Done.");
    assert!(idles(&mut scene, "bob").is_empty() && idles(&mut scene, "carol").is_empty());
}

#[test]
fn a_warning_names_the_teammate_and_a_block_tells_it_how_to_continue() {
    let mut scene = held();
    scene.task(json!({"id": "4", "status": "pending"}));
    let texts = |mode: Mode| {
        let mut scene = scene.clone();
        (scene.policy.idle_with_work.mode, scene.policy.report_before_idle.mode) = (mode, mode);
        let mut found = scene.judge(&mate("bob"), &idle("bob"));
        found.extend(scene.judge(&mate("carol"), &idle("carol")));
        scene.says(&lead(), "carol", "Review it.");
        found.extend(scene.judge(&mate("carol"), &idle("carol")).pop());
        found.iter().map(crate::Finding::text).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(texts(Mode::Warn), @r#"
    Warning: bob goes idle while owning task 2 "Task 2" (in_progress, owner bob). A message starts its next turn. A teammate that is waiting can add "waiting" to the task's metadata.
    Warning: carol goes idle although this task is unassigned: task 4 (pending, no owner). The lead can assign it with TaskUpdate.
    Warning: carol goes idle without having sent a message since its last instruction. The lead can ask it for a report with SendMessage.
    "#);
    insta::assert_snapshot!(texts(Mode::Block), @r#"
    Blocked: going idle while owning task 2 "Task 2" (in_progress, owner bob). Continue it, or complete it with TaskUpdate. If you are waiting, ask with SendMessage, or add "waiting" to the task's metadata with TaskUpdate.
    Blocked: going idle although this task is unassigned: task 4 (pending, no owner). Take one with TaskUpdate (owner: your name, status: in_progress), or send the lead a message with the reason why not.
    Blocked: going idle without having sent a message since its last instruction. Send team-lead a message with your results and the remaining work.
    "#);
}

#[test]
fn the_lead_does_not_stop_while_nobody_works_on_what_is_in_progress() {
    let mut scene = Scene::with(&[("2", "in_progress", "bob", &[])]);
    let stop = json!({"hook_event_name": "Stop", "background_tasks": []});
    assert!(scene.codes(&lead(), &stop).is_empty(), "off by default");
    scene.policy.lead_stops_early.mode = Mode::Warn;
    assert_eq!(scene.codes(&lead(), &stop), [("lead-stops-with-open-work", WARN)]);
    assert!(scene.codes(&mate("bob"), &stop).is_empty());
    let running = json!({"hook_event_name": "Stop", "background_tasks": [
        {"id": "t1", "type": "teammate", "status": "running", "description": "Review it"}]});
    assert!(scene.codes(&lead(), &running).is_empty());
    scene.team.ledger.spawned_for.insert(mark("Review it"), vec!["alice".to_owned()]);
    assert_eq!(scene.codes(&lead(), &running).len(), 1, "somebody else runs");
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    assert!(scene.codes(&lead(), &stop).is_empty());
    scene.task(json!({"id": "3", "status": "in_progress", "owner": "team-lead"}));
    let found = scene.judge(&lead(), &running);
    assert!(found[0].text().contains("task 3") && !found[0].text().contains("task 2"));
}
