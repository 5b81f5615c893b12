//! A TeamDelete of a team with many tasks: their contents are stored together, and all of them come back.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::play::Lead;
use super::stage::{Stage, below};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TASKS: usize = 300;

fn team(stage: &Stage) -> Lead<'_> {
    let lead = Lead::named(stage, SESSION, "parser-team");
    lead.roster(1_000, &["alice"]);
    lead
}

fn tasks(lead: &Lead<'_>, numbers: std::ops::RangeInclusive<usize>) {
    numbers.for_each(|number| lead.task(&number.to_string(), "completed", Some("alice")));
}

fn delete(stage: &Stage, lead: &Lead<'_>, id: &str) {
    let call = json!({"tool_name": "TeamDelete", "tool_input": {}, "tool_use_id": id});
    let said = stage.feed("pre-tool-use", lead.payload("PreToolUse", call).to_string().as_bytes(), &[]);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
}

/// The data files of the run, and their sizes.
fn data_files(stage: &Stage) -> Vec<(PathBuf, u64)> {
    let files = below(&stage.keep("archive/runs")).into_iter();
    let files = files.filter(|path| path.parent().is_some_and(|dir| dir.ends_with("contents")));
    files.map(|path| (path.clone(), path.metadata().unwrap().len())).collect()
}

fn objects(stage: &Stage) -> Vec<PathBuf> {
    let dir = stage.keep("archive/objects");
    if dir.exists() { below(&dir).into_iter().filter(|path| path.is_file()).collect() } else { Vec::new() }
}

/// The files of a task list, by name.
fn list(dir: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let files = below(dir).into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    files.map(|path| (path.file_name().unwrap().to_owned(), std::fs::read(&path).unwrap())).collect()
}

/// Deletes the team's files, restores them elsewhere, and compares them.
fn compare_restored(stage: &Stage) {
    let before = list(&stage.client("tasks/parser-team"));
    assert_eq!(before.len(), TASKS);
    stage.remove_dir("teams");
    stage.remove_dir("tasks");
    let to = stage.home().join("restored");
    let said = stage.run(&["restore", "parser-team", "--to", to.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(list(&to.join("tasks/parser-team")) == before);
}

#[test]
fn many_new_tasks_share_a_data_file_and_come_back() {
    let stage = Stage::new();
    let lead = team(&stage);
    tasks(&lead, 1..=TASKS);
    delete(&stage, &lead, "u1");
    let files = data_files(&stage);
    assert_eq!((files.len(), objects(&stage).len()), (1, 0));
    delete(&stage, &lead, "u2");
    assert_eq!(data_files(&stage), files, "what is on the disk is compared, and not written again");
    assert_eq!(stage.run(&["verify"]).code, Some(0));
    compare_restored(&stage);
}

#[test]
fn tasks_that_were_captured_one_by_one_outlast_a_power_failure_after_a_team_delete() {
    let stage = Stage::new();
    let lead = team(&stage);
    for numbers in [1..=150, 151..=TASKS] {
        tasks(&lead, numbers);
        lead.start("startup");
    }
    assert!(objects(&stage).len() >= TASKS);
    delete(&stage, &lead, "u1");
    assert_eq!(data_files(&stage).len(), 1);
    // The objects were never synced.
    objects(&stage).iter().for_each(|path| std::fs::write(path, "").unwrap());
    compare_restored(&stage);
}

#[test]
fn a_task_that_changes_after_it_was_stored_with_others_is_captured() {
    let stage = Stage::new();
    let lead = team(&stage);
    tasks(&lead, 1..=TASKS);
    lead.start("startup");
    assert_eq!((data_files(&stage).len(), objects(&stage).len()), (1, 0));
    lead.task("7", "pending", Some("alice"));
    lead.start("startup");
    assert_eq!(objects(&stage).len(), 1);
    lead.task("7", "completed", Some("alice"));
    delete(&stage, &lead, "u1");
    compare_restored(&stage);
}
