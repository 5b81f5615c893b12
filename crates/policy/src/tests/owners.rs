//! Owners in every form that a task's file can have.

use serde_json::json;

use super::scene::{Scene, ask, before, idle, lead, mate};
use teamkeep_config::Mode;

fn scene(owner: &str) -> Scene {
    let mut scene = Scene::with(&[]);
    scene.task(json!({"id": "2", "status": "in_progress", "owner": owner}));
    scene.team.ledger.handles.insert("abob-7dfce".to_owned(), "bob".to_owned());
    scene.policy.lead_stops_early.mode = Mode::Block;
    scene
}

#[test]
fn an_owner_is_resolved_in_every_spelling() {
    for owner in ["bob", "@bob", "bob@parser-team", "abob-7dfce", "BOB", " bob"] {
        let mut scene = scene(owner);
        let request = before("SendMessage", ask("bob"));
        assert_eq!(scene.codes(&lead(), &request).len(), 1, "{owner}");
        assert_eq!(scene.codes(&mate("bob"), &idle("bob")).len(), 1, "{owner}");
        assert_eq!(scene.codes(&lead(), &before("TeamDelete", json!({}))).len(), 1, "{owner}");
        assert!(scene.codes(&lead(), &before("SendMessage", ask("alice"))).is_empty(), "{owner}");
        let stop = json!({"hook_event_name": "Stop", "background_tasks": []});
        assert_eq!(scene.codes(&lead(), &stop).len(), 1, "{owner}");
        scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
        assert!(scene.codes(&lead(), &stop).is_empty(), "{owner}");
    }
}

#[test]
fn two_members_whose_names_differ_only_in_case_are_distinct() {
    let mut scene = scene("Bob@parser-team");
    scene.team.members.push("Bob".to_owned());
    assert!(scene.codes(&lead(), &before("SendMessage", ask("bob"))).is_empty());
    assert_eq!(scene.codes(&lead(), &before("SendMessage", ask("Bob"))).len(), 1);
    assert!(scene.codes(&mate("bob"), &idle("bob")).is_empty());
}
