use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Earlier, Options, Plan, TaskWrite, allocate_ids, plan};
use crate::restore::source::RestorableTask;
use crate::restore::{RestoreSource, TaskList};
use teamkeep_model::TaskStatus;
use teamkeep_model::team::Task;

fn task(id: &str, more: Value) -> Task {
    let mut raw = json!({"id": id, "subject": format!("Task {id}"), "status": "pending"});
    for (key, value) in more.as_object().unwrap() {
        raw[key] = value.clone();
    }
    Task::parse(&format!("{id}.json"), raw.to_string().as_bytes()).unwrap()
}

fn source(tasks: &[(&str, Value)]) -> RestoreSource {
    let recorded_tasks = tasks.iter().map(|(key, more)| {
        let id = key.rsplit('/').next().unwrap();
        let recorded = RestorableTask {
            key: (*key).to_owned(),
            task: task(id, more.clone()),
            deleted: false,
            from_tools_only: false,
            until_shutdown: None,
        };
        ((*key).to_owned(), recorded)
    });
    RestoreSource { tasks: recorded_tasks.collect(), unreadable: BTreeSet::new() }
}

fn list_now(ids: &[(&str, Value)], mark: Option<&str>) -> TaskList {
    let tasks = ids.iter().map(|(id, more)| ((*id).to_owned(), Some(task(id, more.clone()))));
    TaskList { tasks: tasks.collect(), highwatermark: mark.map(|mark| mark.as_bytes().to_vec()) }
}

/// Each task: its id in the run, its number, its dependencies.
fn told(plan: &Plan) -> Vec<(&str, &str, Vec<&str>)> {
    plan.tasks
        .iter()
        .map(|put| (put.was.as_str(), put.id.as_str(), put.blocked_by.iter().map(String::as_str).collect()))
        .collect()
}

#[test]
fn tasks_of_two_lists_keep_to_their_own_references() {
    let source = source(&[
        ("1", json!({"blocks": ["2"]})),
        ("2", json!({"blockedBy": ["1", "1", "2"]})),
        ("session-x/1", json!({})),
        ("session-x/2", json!({"blockedBy": ["1"]})),
    ]);
    let plan = plan(&source, &TaskList::default(), &BTreeMap::new(), Options::default()).unwrap();
    assert_eq!(
        told(&plan),
        [
            ("1", "1", vec![]),
            ("2", "2", vec!["1"]),
            ("session-x/1", "3", vec![]),
            ("session-x/2", "4", vec!["3"])
        ]
    );
    assert_eq!((plan.highwatermark_before, plan.highwatermark_after), (None, 4));
}

#[test]
fn a_reference_to_a_task_that_is_there_is_kept() {
    let source = source(&[
        ("1", json!({"status": "completed"})),
        ("2", json!({"blockedBy": ["1", "5"]})),
        ("5", json!({})),
    ]);
    let own = Options { own: true, ..Options::default() };
    let there = list_now(&[("1", json!({})), ("5", json!({"subject": "Another's"}))], None);
    let earlier = BTreeMap::from([("5".to_owned(), Earlier { id: "9".to_owned(), exists: true })]);
    let with = |options| plan(&source, &there, &earlier, options).unwrap();
    assert_eq!(told(&with(own)), [("2", "2", vec!["1", "9"])]);
    let other = with(Options::default());
    assert_eq!(told(&other), [("2", "2", vec!["9"])], "1 of another list is another task");
    assert_eq!(other.tasks[0].dropped[0].why, "already completed");
}

#[test]
fn a_list_of_completed_tasks_is_told_to_be_erased() {
    let source = source(&[("1", json!({"status": "completed", "owner": "bob"}))]);
    let all = Options { all: true, ..Options::default() };
    let plan = plan(&source, &TaskList::default(), &BTreeMap::new(), all).unwrap();
    assert_eq!(plan.notes, ["Claude Code deletes the tasks of a list when all of them are completed"]);
    assert_eq!(plan.tasks[0].owner.as_deref(), Some("bob"));
    let open = list_now(&[("2", json!({}))], None);
    assert!(super::plan(&source, &open, &BTreeMap::new(), all).unwrap().notes.is_empty());
}

proptest! {
    #[test]
    fn whatever_is_there_no_number_is_given_twice_and_no_reference_leads_nowhere(
        recorded_tasks in proptest::collection::btree_map("(session-x/)?[0-9]{1,2}", proptest::collection::vec("[0-9]{1,2}", 0..4), 0..12),
        there in proptest::collection::btree_set(0_u32..30, 0..12),
        mark in proptest::option::of("[0-9]{1,2}|x"),
        own: bool,
        all: bool,
    ) {
        let recorded_tasks: Vec<(&str, Value)> = recorded_tasks.iter()
            .map(|(key, links)| (key.as_str(), json!({"blockedBy": links, "blocks": links})))
            .collect();
        let ids: Vec<String> = there.iter().map(u32::to_string).collect();
        let others: Vec<(&str, Value)> =
            ids.iter().map(|id| (id.as_str(), json!({"subject": "Another's"}))).collect();
        let (source, list_now) = (source(&recorded_tasks), list_now(&others, mark.as_deref()));
        let plan = plan(&source, &list_now, &BTreeMap::new(), Options { all, own, ..Options::default() }).unwrap();
        let given: BTreeSet<&str> = plan.tasks.iter().map(|put| put.id.as_str()).collect();
        prop_assert_eq!(given.len(), plan.tasks.len());
        prop_assert_eq!(plan.tasks.len(), source.tasks.len());
        prop_assert!(ids.iter().all(|id| !given.contains(id.as_str())));
        prop_assert!(plan.highwatermark_after >= list_now.mark());
        for put in &plan.tasks {
            prop_assert!(put.id.parse::<u64>().unwrap() <= plan.highwatermark_after);
            prop_assert!(put.blocked_by.iter().chain(&put.blocks).all(|id| given.contains(id.as_str()) && *id != put.id));
            let text: Value = serde_json::from_slice(&put.text).unwrap();
            prop_assert_eq!(&text["id"], &json!(put.id));
        }
    }
}

#[test]
fn a_value_that_the_client_would_reject_is_corrected_and_the_rest_is_kept() {
    let raw = json!({"id": 7, "subject": "Über \u{1f4a5}", "activeForm": null, "owner": "bob",
        "status": "doing", "blocks": "x", "metadata": 3, "more": [1]});
    let write = TaskWrite {
        id: "9".to_owned(),
        was: "7".to_owned(),
        subject: "Über \u{1f4a5}".to_owned(),
        status: TaskStatus::Pending,
        was_status: None,
        owner: None,
        was_owner: None,
        until_shutdown: false,
        blocks: vec![],
        blocked_by: vec!["4".to_owned()],
        dropped: vec![],
        from_tools_only: false,
        text: vec![],
    };
    let text = String::from_utf8(write.file_content(&raw).unwrap()).unwrap();
    insta::assert_snapshot!(text, @r#"
    {
      "id": "9",
      "subject": "Über 💥",
      "description": "",
      "more": [
        1
      ],
      "status": "pending",
      "blocks": [],
      "blockedBy": [
        "4"
      ]
    }
    "#);
}

fn recorded(key: &str) -> RestorableTask {
    let task = task(key.rsplit('/').next().unwrap(), json!({}));
    RestorableTask { key: key.to_owned(), task, deleted: false, from_tools_only: false, until_shutdown: None }
}

fn allocated(keys: &[&str], used: &[u64], mark: u64, own: bool) -> Vec<u64> {
    let tasks: Vec<RestorableTask> = keys.iter().map(|key| recorded(key)).collect();
    let used = used.iter().map(|id| (id.to_string(), None)).collect();
    let list_now = TaskList { tasks: used, highwatermark: Some(mark.to_string().into_bytes()) };
    let options = Options { own, ..Options::default() };
    allocate_ids(&list_now, options, &tasks.iter().collect::<Vec<_>>()).unwrap()
}

#[test]
fn free_number_is_preserved_and_used_number_is_replaced() {
    assert_eq!(allocated(&["2", "3"], &[], 0, false), [2, 3]);
    assert_eq!(allocated(&["1", "2", "3"], &[1, 2], 0, false), [4, 5, 3]);
    assert_eq!(allocated(&["2", "9"], &[], 3, false), [10, 9], "2 was another task's");
    assert_eq!(allocated(&["2", "9"], &[], 3, true), [2, 9], "2 was this task's own");
    assert_eq!(allocated(&["2", "session-x/2"], &[], 0, true), [2, 3]);
    assert_eq!(allocated(&["x", "007", "0", "99999999999"], &[5], 4, false), [6, 7, 8, 9]);
}

#[test]
fn a_list_without_free_numbers_is_an_error() {
    let list_now = list_now(&[], Some("99999999999999999999"));
    let error = allocate_ids(&list_now, Options::default(), &[&recorded("1")]).unwrap_err();
    assert!(error.to_string().contains("there is no higher one"));
}
