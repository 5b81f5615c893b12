//! Hook calls that failed or were killed between two changes of the store: what they leave on disk, and how it is used.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use teamkeep_store::archive::EndedBy;

use crate::store::run_sandbox::ended_process;
use crate::support::access::set_time;
use crate::support::client_files::Lead;
use crate::support::sandbox::{START, Sandbox, feed};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const TEAM: &str = "session-aaaaaaaa";

fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, ONE);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    lead
}

/// A path in the directory of the only run.
fn in_run(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.archive().run_dir(&sandbox.archive().run_names()[0]).unwrap().join(name)
}

#[test]
fn a_run_description_that_cannot_be_read_at_a_call_is_not_replaced() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    let path = in_run(&sandbox, "run.json");
    let before = std::fs::read_to_string(&path).unwrap();
    assert!(before.contains(ONE), "the session is in it");
    // No call reads a file of this size.
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(1 << 30).unwrap();
    lead.task("2", "pending", None);
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    assert!(sandbox.diagnostics().contains("run.json"), "{}", sandbox.diagnostics());
    assert!(!path.with_file_name("run.json.damaged").exists());
    file.set_len(before.len() as u64).unwrap();
    drop(file);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["2"]["status"], "pending", "its files are stored");
    lead.end("other");
    sandbox.finish();
    let run = &sandbox.library().runs[0];
    assert_eq!((run.sessions.len(), run.ended_at.is_some()), (1, true), "{run:?}");
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
}

/// Before 2.1.178, teams have names that can be used again.
#[test]
fn a_team_with_the_name_of_an_ended_one_is_recorded_without_the_call_that_created_it() {
    let sandbox = Sandbox::new();
    let first = Lead::named(&sandbox, ONE, "parser-team");
    first.roster(1_000, &["alice"]);
    first.start("startup");
    first.erase();
    first.end("other");
    sandbox.finish();
    let second = Lead::named(&sandbox, TWO, "parser-team");
    second.start("startup");
    second.roster(2_000, &["bob"]);
    second.task("1", "pending", None);
    second.hook("Stop", json!({}));
    second.task("1", "completed", None);
    second.hook("Stop", json!({}));
    let runs: Vec<_> = sandbox.library().runs.iter().map(|run| run.lead_session.clone()).collect();
    assert_eq!(runs, [Some(ONE.to_owned()), Some(TWO.to_owned())]);
    let events = sandbox.log();
    assert_eq!(events.last().unwrap()["team"], "parser-team");
    let tasks = sandbox.replay("parser-team").into_iter().filter(|entry| entry["task"] == "1");
    assert_eq!(
        tasks.map(|entry| entry["kind"].clone()).collect::<Vec<_>>(),
        ["task-created", "task-completed"]
    );
}

#[test]
fn a_call_that_was_killed_before_it_stored_anything_leaves_no_run() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    lead.erase();
    lead.end("other");
    sandbox.finish();
    let dir = sandbox.keep("runs/0123456789abcdef");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join(".run.json.0123456789abcdef.tmp"), "{").unwrap();
    assert_eq!(sandbox.teams().len(), 1);
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
    sandbox.printed(&["prune", "--yes"]);
    assert!(dir.exists(), "the call may be running");
    for path in [dir.join(".run.json.0123456789abcdef.tmp"), dir.clone()] {
        set_time(&path, UNIX_EPOCH);
    }
    sandbox.set_clock(10_000_000_000);
    let pruned = sandbox.printed(&["prune", "--yes", "--keep", "0"]);
    assert!(pruned.contains("deleted 1 run ("), "{pruned}");
    assert!(!dir.exists() && sandbox.teams().is_empty());
}

#[test]
fn a_run_whose_end_was_killed_before_its_index_is_archived_at_its_next_end() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    lead.says("user", json!("go"));
    let [open, closed] =
        ["open", "closed"].map(|dir| sandbox.keep(&format!("teams/{dir}/team-session-aaaaaaaa.json")));
    let before = std::fs::read(&open).unwrap();
    lead.end("other");
    sandbox.finish();
    // The call was killed after it had written `run.json`, and before its index.
    std::fs::remove_file(&closed).unwrap();
    std::fs::write(&open, before).unwrap();
    lead.start("resume");
    lead.says("assistant", json!("later"));
    lead.end("other");
    sandbox.finish();
    assert!(closed.exists() && !open.exists());
    assert_archived(&sandbox, &lead);
}

/// The whole transcript of the lead is archived, and no other.
fn assert_archived(sandbox: &Sandbox, lead: &Lead<'_>) {
    let kept = sandbox.archive().kept(&sandbox.archive().run_names()[0]);
    let size = std::fs::read(sandbox.client(&lead.transcript())).unwrap().len() as u64;
    assert_eq!(kept.into_values().map(|kept| kept.size).collect::<Vec<_>>(), [size]);
}

#[test]
fn a_session_that_found_its_run_locked_joins_it_at_the_next_call() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nlock-patience = \"20ms\"\n");
    let lead = team(&sandbox);
    let path = sandbox.keep("locks/team-session-aaaaaaaa");
    let held = teamkeep_system::fs::lock(&path, Duration::from_secs(60)).unwrap();
    assert!(held.is_some());
    lead.start("startup");
    drop(held);
    lead.hook("Stop", json!({}));
    let run = sandbox.archive().run_names().pop().unwrap();
    assert_eq!(sandbox.archive().run(&run).unwrap().sessions.len(), 1);
}

#[test]
fn a_run_whose_reopening_was_killed_is_archived_at_its_next_end() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    lead.says("user", json!("go"));
    lead.end("other");
    sandbox.finish();
    // The call was killed after it had written this file, and before its index.
    let path = in_run(&sandbox, "run.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for key in ["ended_at", "ended_by", "ended_reason"] {
        run[key] = Value::Null;
    }
    run["finished"] = json!(false);
    std::fs::write(&path, run.to_string()).unwrap();
    lead.start("resume");
    lead.says("assistant", json!("later"));
    lead.end("other");
    sandbox.finish();
    assert_archived(&sandbox, &lead);
}

#[test]
fn a_run_directory_that_lost_its_description_is_reported() {
    let sandbox = Sandbox::new();
    team(&sandbox).start("startup");
    std::fs::remove_file(in_run(&sandbox, "run.json")).unwrap();
    let result = sandbox.run(&["list"]);
    assert!(result.code == Some(0) && result.err.contains("run.json"), "{result:?}");
    assert_eq!(sandbox.run(&["verify"]).code, Some(1));
}

#[test]
fn a_missing_directory_of_runs_is_reported_if_a_team_has_an_index() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.keep("teams/open")).unwrap();
    let result = sandbox.run(&["list"]);
    assert!(result.err.contains("no runs recorded yet"), "{result:?}");
    sandbox.printed(&["prune", "--yes"]);
    std::fs::write(sandbox.keep("teams/open/team-x.json"), "").unwrap();
    let result = sandbox.run(&["list"]);
    assert!(result.err.contains("runs is missing, although teams/open/ has files"), "{result:?}");
}

/// The only run, as a call leaves it that is killed before its index. Its team is deleted then.
fn without_index(sandbox: &Sandbox, process: u32) -> String {
    let lead = team(sandbox);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": process}}));
    lead.start("startup");
    std::fs::remove_file(sandbox.keep("teams/open/team-session-aaaaaaaa.json")).unwrap();
    let path = in_run(sandbox, "run.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    run["sessions"] = json!([]);
    std::fs::write(path, run.to_string()).unwrap();
    sandbox.finish();
    std::fs::remove_dir_all(sandbox.keep("sessions")).unwrap();
    sandbox.remove_dir("teams/session-aaaaaaaa");
    run["run"].as_str().unwrap().to_owned()
}

/// What another session leaves, whose end starts the background process.
fn end_another(sandbox: &Sandbox) {
    let lead = Lead::of(sandbox, TWO);
    lead.roster(2_000, &["bob"]);
    lead.start("startup");
    lead.end("other");
    sandbox.finish();
}

#[test]
fn a_run_without_an_index_is_closed_when_its_team_and_claude_code_are_gone() {
    let sandbox = Sandbox::new();
    let run = without_index(&sandbox, ended_process());
    end_another(&sandbox);
    let closed = sandbox.archive().run(&run).unwrap();
    assert_eq!((closed.ended_by, closed.finished), (Some(EndedBy::Disappeared), true));
    assert_eq!(closed.ended_at.unwrap().to_string(), START, "when it was last seen");
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
}

#[test]
fn a_run_without_an_index_is_not_closed_while_claude_code_runs() {
    let sandbox = Sandbox::new();
    let run = without_index(&sandbox, std::process::id());
    end_another(&sandbox);
    assert_eq!(sandbox.archive().run(&run).unwrap().ended_at, None);
}

#[test]
fn a_run_without_an_index_that_was_closed_too_early_continues() {
    let sandbox = Sandbox::new();
    let run = without_index(&sandbox, ended_process());
    end_another(&sandbox);
    let lead = team(&sandbox);
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let record = sandbox.archive().run(&run).unwrap();
    assert_eq!((record.ended_at, record.sessions.len()), (None, 1));
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn an_index_that_cannot_be_written_stays_as_it_was() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    let index = sandbox.keep("teams/open/team-session-aaaaaaaa.json");
    let before = std::fs::read(&index).unwrap();
    let blocks = before.len().div_ceil(512);
    (2..7).for_each(|id| lead.task(&id.to_string(), "pending", None));
    let mut command = Command::new("/bin/sh");
    sandbox.dress(&mut command);
    let script = format!("ulimit -f {blocks}; exec \"$0\" hook");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_teamkeep")]);
    feed(&mut command, lead.payload("Stop", json!({})).to_string().as_bytes());
    assert!(sandbox.diagnostics().contains("cannot write the index"), "{}", sandbox.diagnostics());
    assert_eq!(std::fs::read(&index).unwrap(), before);
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
    lead.hook("Stop", json!({}));
    assert_ne!(std::fs::read(&index).unwrap(), before);
    assert_eq!(sandbox.show(&[TEAM])["tasks"].as_object().unwrap().len(), 6);
}
