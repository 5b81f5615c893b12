//! Every task is on record in every state that it had, and in its last.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::record::{Record, text, words};
use super::super::sent::{Sent, State};
use super::{differ, same};

pub fn differences(sent: &Sent, record: &Record) -> Vec<String> {
    let mut told: BTreeMap<String, Vec<State>> = BTreeMap::new();
    for entry in record.of(&["task-created", "task-changed", "task-completed", "task-deleted"]) {
        let state = (text(entry, "actor"), text(entry, "to_status"), owner(entry));
        told.entry(text(entry, "task")).or_default().push(state);
    }
    let mut found = Vec::new();
    for (id, task) in &sent.tasks {
        let states = told.remove(id).unwrap_or_default();
        found.extend(same(&format!("replay, task {id}"), &task.states, &states));
    }
    found.extend(
        told.into_iter().map(|(id, states)| format!("replay, task {id}: nobody made it: {states:?}")),
    );

    let last = || {
        sent.tasks.iter().map(|(id, task)| {
            let (_, status, owner) = task.states.last().cloned().unwrap_or_default();
            (id.clone(), task.subject.clone(), status, owner)
        })
    };
    let as_told =
        |id: &str, task: &Value| (id.to_owned(), text(task, "subject"), text(task, "status"), owner(task));
    // A teammate's tracker (2.1.47) is no work.
    let shown = record.show["tasks"].as_object().into_iter().flatten();
    let shown = shown.filter(|(_, task)| task["metadata"]["_internal"] != true);
    found.extend(differ("show, tasks", last(), shown.map(|(id, task)| as_told(id, task))));
    let listed = record.report["tasks"].as_array().into_iter().flatten();
    found.extend(differ("report, tasks", last(), listed.map(|task| as_told(&text(task, "id"), task))));

    let descriptions = record.show["tasks"].as_object().into_iter().flatten();
    let descriptions = descriptions.filter(|(_, task)| task["metadata"]["_internal"] != true);
    let descriptions = descriptions.map(|(id, task)| (id.clone(), text(task, "description")));
    let described = sent.tasks.iter().map(|(id, task)| (id.clone(), task.description.clone()));
    found.extend(differ("show, descriptions of tasks", described, descriptions));
    let waits =
        record.report["tasks"].as_array().into_iter().flatten().map(|task| {
            (text(task, "id"), words(&task["blocked_by"]).into_iter().map(str::to_owned).collect())
        });
    let waited = sent.tasks.iter().map(|(id, task)| (id.clone(), task.blocked_by.clone()));
    found.extend(differ("report, what tasks wait for", waited, waits));

    let tasks = last().filter(|(_, _, status, _)| status != "deleted").count() as u64;
    let completed = last().filter(|(_, _, status, _)| status == "completed").count() as u64;
    let count = &record.report["overview"]["count"];
    found.extend(same("report, count of tasks", Some(tasks), count["tasks"].as_u64()));
    found.extend(same("report, count of completed tasks", Some(completed), count["completed"].as_u64()));
    found.extend(same("teams, tasks", Some(tasks), record.run["tasks"].as_u64()));
    found
}

/// The new session's list has what was not completed, and nothing else.
pub fn listed(sent: &Sent, listed: Option<String>) -> Vec<String> {
    let Some(listed) = listed else {
        return vec!["the second session's list of tasks was never read".to_owned()];
    };
    let wrong = sent.tasks.values().filter(|task| {
        let done = task.states.last().is_some_and(|(_, status, _)| status == "completed");
        listed.contains(&task.subject) == done
    });
    wrong.map(|task| format!("restored tasks: {task:?}, and the new session reads {listed:?}")).collect()
}

fn owner(value: &Value) -> Option<String> {
    value["owner"].as_str().filter(|owner| !owner.is_empty()).map(str::to_owned)
}
