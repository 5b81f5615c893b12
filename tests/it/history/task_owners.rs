//! The owner of a task is an agent, however the task spells it.

use serde_json::json;

use crate::support::client_files::{Lead, count, only};
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

#[test]
fn spellings_of_an_owner_are_one_owner() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice", "bob"]);
    lead.task("1", "pending", Some("bob"));
    lead.start("startup");
    for owner in ["@bob", "bob@session-aaaaaaaa", "BOB"] {
        lead.task("1", "pending", Some(owner));
        lead.hook("Stop", json!({}));
    }
    assert_eq!(count(&sandbox.replay("latest"), "task-changed"), 0);
    let response = json!({"success": true, "taskId": "1", "updatedFields": ["owner"]});
    lead.task("1", "pending", Some("@alice"));
    lead.tool("t1", "TaskUpdate", &json!({"taskId": "1", "owner": "alice"}), response);
    let entries = sandbox.replay("latest");
    let changed = only(&entries, "task-changed");
    assert_eq!((&changed["owner"], &changed["actor"]), (&json!("alice"), &json!("team-lead")));
}
