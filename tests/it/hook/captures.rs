//! What is kept of files that are torn, vanish, or outlive the client's own copy.

use serde_json::{Value, json};
use teamkeep_model::time;
use teamkeep_store::archive::Snapshot;

use crate::support::client_files::{Lead, only};
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const CONFIG: &str = "teams/session-aaaaaaaa/config.json";
const INBOX: &str = "teams/session-aaaaaaaa/inboxes/alice.json";
const TASK: &str = "tasks/session-aaaaaaaa/1.json";

fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.inbox("alice", json!([{"from": "team-lead", "text": "hi", "timestamp": sandbox.last()}]));
    lead.task("1", "in_progress", Some("alice"));
    lead.start("startup");
    lead
}

fn journal(sandbox: &Sandbox) -> Vec<Snapshot> {
    let library = sandbox.library();
    let run = library.find("latest").unwrap().run.clone();
    let journal = library.archive.journal(&run);
    assert_eq!(journal.damaged, 0);
    journal.snapshots
}

/// What the journal says of a file: whether it was torn, or gone.
fn told(sandbox: &Sandbox, path: &str) -> Vec<&'static str> {
    let mut told = Vec::new();
    for snapshot in journal(sandbox) {
        let changed = snapshot.changed.iter().filter(|change| change.path == path);
        told.extend(changed.map(|change| if change.torn { "torn" } else { "whole" }));
        told.extend(snapshot.gone.iter().filter(|gone| *gone == path).map(|_| "gone"));
    }
    told
}

fn check_torn(path: &str) -> (Sandbox, Value) {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let whole = std::fs::read_to_string(sandbox.client(path)).unwrap();
    sandbox.write(path, &whole[..whole.len() / 2]);
    lead.hook("Stop", json!({}));
    let torn = sandbox.last();
    let seen = sandbox.show(&["latest"]);
    let then = sandbox.show(&["latest", "--at", &torn]);
    assert_eq!(then["torn"], json!([path]));
    for part in ["members", "tasks", "inboxes"] {
        assert_eq!(then[part], seen[part], "what it said before stands");
    }
    let result = sandbox.printed(&["show", "latest", "--at", &torn]);
    assert!(result.contains(&format!("{path} was half-written; its previous content is shown")), "{result}");
    sandbox.write(path, &whole);
    lead.hook("Stop", json!({}));
    assert_eq!(told(&sandbox, path), ["whole", "torn", "whole"]);
    assert!(
        sandbox.diagnostics().contains(&format!("{path} was incomplete JSON")),
        "{}",
        sandbox.diagnostics()
    );

    let library = sandbox.library();
    let run = &library.find("latest").unwrap().run;
    let held = library.archive.journal(run).at(time::parse(&torn).unwrap());
    let kept = library.archive.content(run, held[path].object.as_deref().unwrap()).unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), whole[..whole.len() / 2], "torn as it was");
    (sandbox, seen)
}

#[test]
fn a_truncated_config_is_stored_and_replaced_at_the_next_call() {
    let (sandbox, seen) = check_torn(CONFIG);
    assert!(seen["members"]["alice"].is_object(), "the roster before it stands");
    assert_eq!(sandbox.teams().len(), 1, "and the run goes on");
    assert_eq!(only(&sandbox.replay("latest"), "team-created")["actor"], "team-lead");
    let entries = sandbox.replay("latest");
    assert!(entries.iter().all(|entry| entry["kind"] != "member-left"), "nobody left");
}

#[test]
fn a_truncated_inbox_is_stored_and_replaced_at_the_next_call() {
    let (sandbox, seen) = check_torn(INBOX);
    assert_eq!(seen["inboxes"]["alice"][0]["text"], "hi");
    assert_eq!(only(&sandbox.replay("latest"), "message")["text"], "hi");
}

#[test]
fn a_truncated_task_is_stored_and_replaced_at_the_next_call() {
    let (sandbox, seen) = check_torn(TASK);
    assert_eq!(seen["tasks"]["1"]["status"], "in_progress");
    assert_eq!(only(&sandbox.replay("latest"), "task-created")["task"], "1");
}

#[test]
#[cfg_attr(windows, ignore = "wine needs longer than a call may look at files")]
fn a_thousand_empty_files_are_stored_and_the_event_is_recorded() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    for number in 2..1_000 {
        sandbox.write(&format!("tasks/session-aaaaaaaa/{number}.json"), "");
    }
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.log().len(), 2);
    let library = sandbox.library();
    let held = library.archive.journal(&library.find("latest").unwrap().run).last();
    let torn = held.values().filter(|state| state.torn && state.object.is_some());
    assert_eq!(torn.count(), 998);
}

#[test]
fn files_that_exceed_the_time_limit_are_stored_by_later_calls() {
    let sandbox = Sandbox::new();
    sandbox.configure("[archive]\nlongest-look = \"0s\"\n");
    let lead = team(&sandbox);
    let known = || {
        let library = sandbox.library();
        library.archive.journal(&library.find("latest").unwrap().run).last().into_keys().collect::<Vec<_>>()
    };
    assert_eq!(known(), [CONFIG], "the team's own file comes first");
    assert!(sandbox.diagnostics().contains("not enough time for 2 files"), "{}", sandbox.diagnostics());
    lead.hook("Stop", json!({}));
    assert_eq!(known(), [CONFIG, INBOX]);
    lead.hook("Stop", json!({}));
    assert_eq!(known(), [TASK, CONFIG, INBOX]);
    let log = sandbox.log();
    let verdicts = log.iter().filter(|line| line["event"] == "Verdict").map(|line| &line["verdict"]["code"]);
    assert_eq!(
        verdicts.collect::<Vec<_>>(),
        ["policy-failed"],
        "the first Stop was judged by less than there is"
    );
    assert_eq!(log.len(), 4, "and every event is on record");
}

#[test]
fn a_team_delete_is_blocked_until_every_file_is_stored() {
    let sandbox = Sandbox::new();
    sandbox.configure("[archive]\nlongest-look = \"0s\"\n");
    let lead = team(&sandbox);
    let payload = lead.payload("PreToolUse", json!({"tool_name": "TeamDelete", "tool_input": {}}));
    let result = sandbox.feed("pre-tool-use", payload.to_string().as_bytes(), &[]);
    assert!(result.code == Some(2) && result.err.contains("not enough time for"), "{result:?}");
    assert!(result.err.contains("Delete again: each attempt continues"), "{}", result.err);
}

#[test]
fn an_older_snapshot_written_without_the_lock_does_not_replace_a_newer_one() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let first = journal(&sandbox).remove(0);
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    // Somebody who saw the first state gave up on the lock, and wrote it later and with a later time.
    let late = Snapshot { at: time::parse("2026-02-03T04:05:16.000Z").unwrap(), team_dir: None, ..first };
    let run = sandbox.library().find("latest").unwrap().run.clone();
    let line = serde_json::to_string(&late).unwrap() + "\n";
    std::fs::write(sandbox.keep(&format!("runs/{run}/snapshots-late.jsonl")), line).unwrap();
    lead.task("2", "pending", None);
    lead.hook("Stop", json!({}));
    let last = sandbox.show(&["latest"]);
    assert_eq!(
        (&last["tasks"]["1"]["status"], &last["tasks"]["2"]["status"]),
        (&json!("completed"), &json!("pending"))
    );
}

#[test]
fn the_last_content_of_a_removed_file_stays_in_the_archive() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let before = sandbox.last();
    std::fs::remove_file(sandbox.client(TASK)).unwrap();
    lead.hook("Stop", json!({}));
    assert_eq!(told(&sandbox, TASK), ["whole", "gone"]);
    let last = sandbox.show(&["latest"]);
    assert_eq!(
        (&last["tasks"]["1"]["subject"], &last["tasks"]["1"]["owner"]),
        (&json!("Task 1"), &json!("alice"))
    );
    assert_eq!(sandbox.show(&["latest", "--at", &before])["tasks"]["1"]["status"], "in_progress");
    assert_eq!(sandbox.show(&["latest", "--at", &sandbox.last()])["tasks"], json!({}), "then it was gone");
    assert_eq!(only(&sandbox.replay("latest"), "task-erased")["actor"], "client");
}

#[test]
fn a_member_that_left_is_shown_with_its_prompt() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let told = json!({"name": "bob", "prompt": "Review it", "agentId": "bob@session-aaaaaaaa"});
    lead.config(1_000, &[], json!({"members": [{"name": "team-lead"}, {"name": "alice"}, told]}));
    lead.hook("Stop", json!({}));
    lead.roster(1_000, &["alice"]);
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.show(&["latest"])["members"]["bob"]["prompt"], "Review it");
    let entries = sandbox.replay("latest");
    assert_eq!(only(&entries, "member-left")["actor"], "bob");
}

#[test]
fn a_change_that_keeps_size_and_inode_is_seen() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    // Written in place with as many bytes, again and again within the grain of the file clock.
    for status in ["aaaaaaaaaaa", "bbbbbbbbbbb", "ccccccccccc", "ddddddddddd"] {
        lead.task("1", status, Some("alice"));
        lead.hook("Stop", json!({}));
        assert_eq!(sandbox.show(&["latest"])["tasks"]["1"]["status"], status);
    }
}

#[test]
fn unchanged_team_writes_nothing_to_its_run() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    // Once the files are no longer fresh, their stamps are trusted.
    std::thread::sleep(std::time::Duration::from_millis(80));
    lead.hook("Stop", json!({}));
    let state = || {
        let mut files = crate::support::sandbox::below(&sandbox.keep("runs"));
        files.retain(|path| {
            path.is_file() && !path.file_name().unwrap().to_str().unwrap().starts_with("events")
        });
        files.sort();
        let stamp = |path: &std::path::PathBuf| {
            let metadata = std::fs::symlink_metadata(path).unwrap();
            (path.clone(), metadata.modified().unwrap(), metadata.len())
        };
        files.iter().map(stamp).collect::<Vec<_>>()
    };
    let before = state();
    for _ in 0..3 {
        lead.hook("Stop", json!({}));
    }
    assert_eq!(state(), before);
    assert_eq!(sandbox.log().len(), 5);
}

#[test]
fn the_files_of_claude_code_are_never_written() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let state = || {
        let mut files = crate::support::sandbox::below(&sandbox.client(""));
        files.sort();
        files.iter().map(|path| (path.clone(), std::fs::read(path).ok())).collect::<Vec<_>>()
    };
    let before = state();
    lead.hook("Stop", json!({}));
    lead.before("u1", "TeamDelete", &json!({}), json!({}));
    lead.end("other");
    assert_eq!(state(), before);
}
