//! A TeamDelete of a team with many tasks: their contents are stored together, and all of them come back.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde_json::json;

use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, below};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TASKS: usize = 300;

fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::named(sandbox, SESSION, "parser-team");
    lead.roster(1_000, &["alice"]);
    lead
}

fn tasks(lead: &Lead<'_>, numbers: std::ops::RangeInclusive<usize>) {
    numbers.for_each(|number| lead.task(&number.to_string(), "completed", Some("alice")));
}

fn delete(sandbox: &Sandbox, lead: &Lead<'_>, id: &str) {
    let call = json!({"tool_name": "TeamDelete", "tool_input": {}, "tool_use_id": id});
    let result = sandbox.feed("pre-tool-use", lead.payload("PreToolUse", call).to_string().as_bytes(), &[]);
    assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""));
}

/// The sizes of the files with the run's contents.
fn sizes(sandbox: &Sandbox) -> Vec<u64> {
    let files = below(&sandbox.keep("runs")).into_iter();
    let files = files.filter(|path| path.file_stem().is_some_and(|name| name == "contents"));
    files.map(|path| path.metadata().unwrap().len()).collect()
}

/// The files of a task list, by name.
fn list(dir: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let files = below(dir).into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    files.map(|path| (path.file_name().unwrap().to_owned(), std::fs::read(&path).unwrap())).collect()
}

/// Deletes the team's files, restores them elsewhere, and compares them.
fn compare_restored(sandbox: &Sandbox) {
    let before = list(&sandbox.client("tasks/parser-team"));
    assert_eq!(before.len(), TASKS);
    sandbox.remove_dir("teams");
    sandbox.remove_dir("tasks");
    let to = sandbox.home().join("restored");
    let result = sandbox.run(&["restore", "parser-team", "--files", to.to_str().unwrap()]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(list(&to.join("tasks/parser-team")) == before);
}

#[test]
fn many_new_tasks_are_stored_once_and_can_be_read() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    tasks(&lead, 1..=TASKS);
    delete(&sandbox, &lead, "u1");
    let before = sizes(&sandbox);
    assert_eq!(before.len(), 2, "the bytes and the list");
    delete(&sandbox, &lead, "u2");
    assert_eq!(sizes(&sandbox), before, "what is on the disk is compared, and not written again");
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
    compare_restored(&sandbox);
}

#[test]
fn a_task_that_changes_after_it_was_stored_with_others_is_captured() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    tasks(&lead, 1..=TASKS);
    lead.start("startup");
    lead.task("7", "pending", Some("alice"));
    lead.start("startup");
    lead.task("7", "completed", Some("alice"));
    delete(&sandbox, &lead, "u1");
    compare_restored(&sandbox);
}
