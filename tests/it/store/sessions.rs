//! Sessions without a team: `[archive] sessions`, and their tasks.

use serde_json::{Value, json};

use crate::search::hits;
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const SESSION: &str = "cccccccc-0000-4000-8000-000000000001";
const ALL: &str = "[archive]\nsessions = \"all\"\n";

/// A session without a team, up to its end.
fn session<'a>(sandbox: &'a Sandbox, config: &str) -> Lead<'a> {
    sandbox.configure(config);
    let lead = Lead::of(sandbox, SESSION);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "find it"}));
    lead.says("user", json!("find it"));
    lead.says("assistant", json!("the needle is here"));
    lead.hook("Stop", json!({}));
    assert!(!sandbox.keep("runs").exists(), "before its end, a session costs nothing more");
    lead
}

fn end(sandbox: &Sandbox, lead: &Lead<'_>) -> Vec<Value> {
    lead.end("other");
    sandbox.finish();
    let _ = std::fs::remove_dir_all(sandbox.client("projects"));
    hits(sandbox, &["needle"])
}

#[test]
fn the_transcript_of_every_session_is_archived_at_its_end() {
    let sandbox = Sandbox::new();
    let lead = session(&sandbox, ALL);
    let found = end(&sandbox, &lead);
    assert_eq!(found.len(), 1, "{found:#?}");
    let runs = sandbox.teams();
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0]["team"], &runs[0]["ended_by"]), (&Value::Null, &json!("session-end")));
    assert_eq!((&found[0]["run"], &found[0]["kind"]), (&runs[0]["run"], &json!("reply")));
    assert!(runs[0]["started_at"].as_str() < runs[0]["ended_at"].as_str(), "{}", runs[0]);
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
    assert!(sandbox.printed(&["log", runs[0]["run"].as_str().unwrap(), "--full"]).contains("find it"));
}

#[test]
fn a_resumed_session_is_archived_again_with_its_new_end() {
    let sandbox = Sandbox::new();
    let lead = session(&sandbox, ALL);
    let before = std::fs::read(sandbox.client(&lead.transcript())).unwrap();
    assert_eq!(end(&sandbox, &lead).len(), 1);
    sandbox.write(&lead.transcript(), String::from_utf8(before).unwrap());
    lead.start("resume");
    lead.hook("UserPromptSubmit", json!({"prompt": "again"}));
    lead.says("assistant", json!("another needle"));
    assert_eq!(end(&sandbox, &lead).len(), 2);
    assert_eq!(sandbox.teams().len(), 1);
}

/// The content of a file when the first run began.
fn first_content(sandbox: &Sandbox, path: &str) -> Value {
    let library = sandbox.library();
    let run = &library.runs[0].run;
    let journal = library.archive.journal(run);
    let mut changes = journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
    let first = changes.find(|change| change.path == path).and_then(|change| change.object.clone()).unwrap();
    serde_json::from_slice(&library.archive.content(run, &first).unwrap()).unwrap()
}

#[test]
fn the_first_call_of_a_session_without_a_team_captures_its_tasks() {
    let helper = json!({"agent_id": "a5987ccde93909e4a", "agent_type": "general-purpose"});
    for (config, event, more) in
        [("", "SubagentStart", helper), (ALL, "SessionEnd", json!({"reason": "other"}))]
    {
        let sandbox = Sandbox::new();
        sandbox.configure(config);
        let lead = Lead::of(&sandbox, SESSION);
        let path = format!("tasks/{SESSION}/1.json");
        sandbox.write(&path, json!({"id": "1", "subject": "Before"}));
        lead.start("startup");
        lead.says("user", json!("go"));
        lead.hook(event, more);
        sandbox.finish();
        sandbox.write(&path, json!({"id": "1", "subject": "After"}));
        lead.hook("UserPromptSubmit", json!({"prompt": "again"}));
        assert_eq!(first_content(&sandbox, &path)["subject"], "Before", "{event}");
        assert_eq!(sandbox.run(&["verify"]).code, Some(0));
    }
}

#[test]
fn other_sessions_are_not_archived() {
    for config in ["", "[archive]\nsessions = \"all\"\n[privacy]\nrecord = \"metadata\"\n"] {
        let sandbox = Sandbox::new();
        let lead = session(&sandbox, config);
        assert!(end(&sandbox, &lead).is_empty() && sandbox.teams().is_empty(), "{config}");
    }
    let sandbox = Sandbox::new();
    sandbox.configure(ALL);
    let lead = Lead::of(&sandbox, SESSION);
    lead.start("startup");
    lead.end("other");
    assert!(sandbox.teams().is_empty(), "a session without a transcript");
}

#[test]
fn a_session_with_a_team_is_one_run() {
    let sandbox = Sandbox::new();
    sandbox.configure(ALL);
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.says("assistant", json!("the needle is here"));
    lead.hook("Stop", json!({}));
    lead.erase();
    assert_eq!(end(&sandbox, &lead).len(), 1);
    let runs = sandbox.teams();
    assert_eq!((runs.len(), &runs[0]["team"]), (1, &json!(lead.team)));
}
