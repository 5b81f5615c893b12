//! A team whose directory the client has renamed to erase it: `NAME.deleted-UUID` (2.1.328).

use serde_json::json;

use crate::store::run_sandbox::{ONE, TWO, begin, rows};
use crate::support::client_files::{Lead, only};
use crate::support::sandbox::Sandbox;

const ENDING: &str = ".deleted-473501be-525d-43fb-9bf6-86c251f4f63d";

/// Renames the team's directory, as the client does before it removes it.
fn rename(lead: &Lead<'_>) -> String {
    let renamed = format!("teams/{}{ENDING}", lead.team);
    let team = lead.sandbox.client(&format!("teams/{}", lead.team));
    std::fs::rename(team, lead.sandbox.client(&renamed)).unwrap();
    renamed
}

#[test]
fn a_directory_that_is_being_deleted_is_not_a_new_team() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    let renamed = rename(&lead);
    let teammate = lead.payload("TeammateIdle", json!({"teammate_name": "bob"}));
    sandbox.hook(teammate, &[]);
    lead.end("other");
    sandbox.remove_dir(&renamed);
    Lead::of(&sandbox, TWO).start("startup");
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "team"), [&json!("session-aaaaaaaa")]);
    assert_eq!(rows(&teams, "ended_by"), [&json!("session-end")]);
    let entries = sandbox.replay("latest");
    assert_eq!(only(&entries, "team-erased")["summary"], "session-end");
    let joined = entries.iter().filter(|entry| entry["kind"] == "member-joined").count();
    assert_eq!(joined, 3, "{entries:#?}");
}

#[test]
fn files_written_before_the_directory_was_renamed_are_stored() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    lead.inbox(
        "bob",
        json!([{"from": "alice", "text": "the last word", "timestamp": sandbox.last(), "read": false}]),
    );
    rename(&lead);
    lead.end("other");
    let entries = sandbox.replay("session-aaaaaaaa");
    assert_eq!(only(&entries, "message")["text"], "the last word");
    assert_eq!(sandbox.show(&["session-aaaaaaaa"])["inboxes"]["bob"][0]["text"], "the last word");
}

#[test]
fn a_team_that_is_first_seen_during_its_deletion_is_recorded() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["alice"]);
    rename(&lead);
    lead.end("other");
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "team"), [&json!("session-aaaaaaaa")]);
    assert_eq!(teams[0]["members"], json!(["team-lead", "alice"]));
    assert_eq!(teams[0]["ended_by"], "session-end");
}

#[test]
fn a_directory_left_by_an_earlier_run_of_the_same_name_does_not_belong_to_this_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["alice"]);
    rename(&lead);
    lead.roster(2_000, &["bob"]);
    lead.start("resume");
    lead.erase();
    lead.end("other");
    let show = sandbox.show(&["session-aaaaaaaa"]);
    assert!(show["members"].get("bob").is_some(), "{show}");
    assert!(show["members"].get("alice").is_none(), "{show}");
}

#[test]
fn a_file_change_in_a_directory_that_is_being_deleted_belongs_to_the_team() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    let renamed = rename(&lead);
    let path = sandbox.client(&format!("{renamed}/inboxes/bob.json"));
    lead.hook("FileChanged", json!({"file_path": path, "event": "unlink"}));
    let last = sandbox.log().pop().unwrap();
    assert_eq!(last["team"], "session-aaaaaaaa");
    assert_eq!(rows(&sandbox.teams(), "team").len(), 1);
}
