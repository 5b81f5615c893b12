//! Which agent waits for which.

use serde_json::json;

use super::scene::{Scene, after, before, idle, lead, mate};
use teamkeep_config::Mode;
use teamkeep_model::event::MAX_ENTRIES;

fn held() -> Scene {
    let mut scene = Scene::with(&[("1", "in_progress", "bob", &[]), ("9", "in_progress", "alice", &[])]);
    scene.policy.idle_with_work.mode = Mode::Block;
    scene
}

fn refused(scene: &mut Scene) -> bool {
    !scene.codes(&mate("bob"), &idle("bob")).is_empty()
}

#[test]
fn pending_tasks_do_not_block_an_idle_while_all_work_in_progress_waits() {
    for held_up in [json!({"metadata": {"waiting": "for a review"}}), json!({"blockedBy": ["9"]})] {
        let mut scene = held();
        let mut task = json!({"id": "1", "status": "in_progress", "owner": "bob"});
        task.as_object_mut().unwrap().extend(held_up.as_object().unwrap().clone());
        scene.task(task);
        scene.task(json!({"id": "2", "status": "pending", "owner": "bob"}));
        assert!(!refused(&mut scene), "{held_up}");
        scene.task(json!({"id": "3", "status": "pending"}));
        assert!(!refused(&mut scene), "nor does a task that nobody has taken");
        scene.task(json!({"id": "2", "status": "in_progress", "owner": "bob"}));
        let found = scene.judge(&mate("bob"), &idle("bob"));
        assert!(found[0].text().contains("task 2") && !found[0].text().contains("task 1"));
    }
}

#[test]
fn a_question_is_answered_by_any_message_of_the_asked_agent() {
    let mut scene = held();
    scene.says(&mate("bob"), "team-lead", "Shall I use X or Y?");
    assert!(!refused(&mut scene));
    scene.says(&mate("bob"), "alice", "I have begun.");
    assert!(!refused(&mut scene), "what it said since takes the question not back");
    scene.says(&mate("alice"), "bob", "I am done.");
    assert!(!refused(&mut scene), "alice was not asked");
    scene.says(&lead(), "bob", "Y.");
    assert!(refused(&mut scene));
    scene.says(&mate("bob"), "@alice", "Is Y there?");
    scene.says(&mate("bob"), "team-lead", "Why?");
    scene.says(&lead(), "bob", "It is shorter.");
    assert!(!refused(&mut scene), "alice has not answered");
    scene.says(&mate("alice"), "*", "Y is there.");
    assert!(refused(&mut scene));
}

#[test]
fn a_question_to_everyone_is_answered_by_anyone_or_by_a_task() {
    let mut scene = held();
    scene.says(&mate("alice"), "bob", "Hello.");
    scene.says(&mate("bob"), "*", "Who knows Y?");
    assert!(!refused(&mut scene));
    scene.says(&mate("alice"), "bob", "I do.");
    assert!(refused(&mut scene));
    scene.says(&mate("bob"), "team-lead", "What next?");
    assert!(!refused(&mut scene));
    scene.happens(&lead(), &after("TaskUpdate", json!({"taskId": "4", "owner": "@bob"})));
    assert!(refused(&mut scene));
}

#[test]
fn the_order_of_events_does_not_depend_on_the_clock() {
    let mut scene = Scene::with(&[]);
    scene.policy.report_before_idle.mode = Mode::Block;
    scene.says(&lead(), "bob", "Review it.");
    scene.turn_back();
    scene.says(&mate("bob"), "team-lead", "It is good.");
    assert!(!refused(&mut scene));
    let ask = before("SendMessage", super::scene::ask("bob"));
    assert!(scene.codes(&lead(), &ask).is_empty(), "it has reported");
    scene.policy.idle_with_work.mode = Mode::Block;
    scene.task(json!({"id": "1", "status": "in_progress", "owner": "bob"}));
    assert!(refused(&mut scene));
    scene.turn_back();
    scene.says(&mate("bob"), "team-lead", "X or Y?");
    assert!(!refused(&mut scene));
    scene.turn_back();
    scene.says(&lead(), "bob", "X.");
    assert!(refused(&mut scene));
}

#[test]
fn the_number_of_open_questions_is_limited() {
    let mut scene = held();
    for number in 0..MAX_ENTRIES + 50 {
        scene.says(&mate("bob"), &format!("m{number}"), "Who are you?");
        scene.says(&mate(&format!("m{number}")), "bob", "Who are you?");
    }
    let (bob, last) = (scene.team.ledger.of("bob"), format!("m{}", MAX_ENTRIES + 49));
    assert!(bob.questions.len() <= MAX_ENTRIES && bob.instructions.len() <= MAX_ENTRIES);
    assert!(bob.questions.contains_key(&last) && bob.instructions.contains_key(&last));
}
