//! Plans what to write into a task list. Pure: it uses only its arguments.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::source::{Dropped, Links};
use super::source::{RestorableTask, Source};
use super::task_list::TaskList;
use teamkeep_core::client::team::Task;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::TaskStatus;
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub all: bool,
    pub keep_owners: bool,
    pub own: bool,
}

#[derive(Debug, Serialize)]
pub struct Plan {
    pub v: u8,
    pub run: String,
    pub team: Option<String>,
    /// The moment; `None` for the last state of each task.
    pub at: Option<Timestamp>,
    pub list: String,
    pub directory: String,
    pub held_by: Option<String>,
    pub tasks: Vec<TaskWrite>,
    pub left_out: Vec<LeftOut>,
    /// The highest number assigned before; `None` if the list has no mark.
    pub highwatermark_before: Option<u64>,
    pub highwatermark_after: u64,
    pub notes: Vec<String>,
    pub done: bool,
    pub undo: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskWrite {
    pub id: String,
    pub was: String,
    pub subject: String,
    pub status: TaskStatus,
    pub was_status: Option<TaskStatus>,
    pub owner: Option<String>,
    pub was_owner: Option<String>,
    pub blocks: Vec<String>,
    pub blocked_by: Vec<String>,
    pub dropped: Vec<Dropped>,
    /// Whether it is known only from tool calls, without a file.
    #[serde(rename = "told_only")]
    pub from_tools_only: bool,
    #[serde(skip)]
    pub text: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub task: String,
    pub subject: Option<String>,
    pub why: String,
}

/// Makes a plan. `earlier` returns the number of a task that an earlier restore wrote to this list and that still
/// exists.
pub fn plan(
    source: &Source,
    list_now: &TaskList,
    earlier: &BTreeMap<String, String>,
    options: Options,
) -> Result<Plan> {
    let mut links = Links { source, list_now, own: options.own, restored: BTreeMap::new() };
    let (mut wanted, mut left_out): (Vec<&RestorableTask>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    for recorded in source.tasks.values() {
        let why = match () {
            () if let Some(id) = earlier.get(&recorded.key) => {
                links.note_id(recorded, id);
                format!("already restored as {id}")
            }
            () if links.has_same(recorded) => {
                links.note_id(recorded, &recorded.task.id);
                "already in the list".to_owned()
            }
            () if options.all => {
                wanted.push(recorded);
                continue;
            }
            () if recorded.deleted => "deleted; --all restores it".to_owned(),
            () if recorded.task.is_done() => "completed; --all restores it".to_owned(),
            () => {
                wanted.push(recorded);
                continue;
            }
        };
        left_out.push(LeftOut { task: recorded.key.clone(), subject: recorded.task.subject.clone(), why });
    }
    left_out.extend(source.unreadable.iter().map(|path| LeftOut {
        task: path.clone(),
        subject: None,
        why: "no complete state was recorded".to_owned(),
    }));
    wanted.sort_by(|a, b| order(a).cmp(&order(b)));
    let ids = links.allocate_ids(&wanted)?;
    for (recorded, id) in wanted.iter().zip(&ids) {
        links.note_id(recorded, &id.to_string());
    }
    let writes = wanted.iter().zip(&ids).map(|(recorded, id)| plan_task(recorded, *id, &links, options));
    let tasks = writes.collect::<Result<Vec<TaskWrite>>>()?;
    let mut others = list_now.tasks.values().flatten();
    let is_completed = |task: &TaskWrite| task.status == TaskStatus::Completed;
    let mut notes = Vec::new();
    if !tasks.is_empty() && tasks.iter().all(is_completed) && others.all(Task::is_done) {
        notes.push("Claude Code deletes the tasks of a list when all of them are completed".to_owned());
    }
    let highest = ids.iter().copied().fold(list_now.mark(), u64::max);
    Ok(Plan {
        v: 1,
        run: String::new(),
        team: None,
        at: None,
        list: String::new(),
        directory: String::new(),
        held_by: None,
        tasks,
        left_out,
        highwatermark_before: list_now.highwatermark.is_some().then(|| list_now.mark()),
        highwatermark_after: highest,
        notes,
        done: false,
        undo: None,
    })
}

fn order(recorded: &RestorableTask) -> (Option<&str>, u64, &str) {
    (recorded.list(), recorded.task.id.parse().unwrap_or(u64::MAX), &recorded.key)
}

fn plan_task(recorded: &RestorableTask, id: u64, links: &Links<'_>, options: Options) -> Result<TaskWrite> {
    let was_status = recorded.task.status.clone();
    let status = match &was_status {
        Some(TaskStatus::InProgress) if options.keep_owners => TaskStatus::InProgress,
        Some(TaskStatus::Completed) => TaskStatus::Completed,
        _ => TaskStatus::Pending,
    };
    // A completed task keeps its owner. For others, the owner would be a claim on the remaining work.
    let owner =
        recorded.task.owner.clone().filter(|_| options.keep_owners || status == TaskStatus::Completed);
    let mut dropped = Vec::new();
    let blocks = links.remap_links(recorded, "blocks", &mut dropped);
    let blocked_by = links.remap_links(recorded, "blockedBy", &mut dropped);
    let values =
        TaskValues { id, status: &status, owner: owner.as_deref(), blocks: &blocks, blocked_by: &blocked_by };
    let text = task_json(&recorded.task, &values).map_err(Error::from_json)?;
    Ok(TaskWrite {
        id: id.to_string(),
        was: recorded.key.clone(),
        subject: recorded.task.subject.clone().unwrap_or_default(),
        status,
        was_status,
        owner,
        was_owner: recorded.task.owner.clone(),
        blocks,
        blocked_by,
        dropped,
        from_tools_only: recorded.from_tools_only,
        text,
    })
}

#[derive(Debug, Clone, PartialEq)]
struct TaskValues<'a> {
    pub id: u64,
    pub status: &'a TaskStatus,
    pub owner: Option<&'a str>,
    pub blocks: &'a [String],
    pub blocked_by: &'a [String],
}

/// The file's content, with unknown keys, in Claude Code's format: indented by two spaces, without a final line break.
/// Claude Code ignores a task with missing or invalid texts or lists.
fn task_json(recorded: &Task, values: &TaskValues<'_>) -> serde_json::Result<Vec<u8>> {
    let (raw, mut task) = (&recorded.raw, Map::new());
    let description = raw.get("description").and_then(Value::as_str).unwrap_or_default();
    task.insert("id".to_owned(), json!(values.id.to_string()));
    task.insert("subject".to_owned(), json!(recorded.subject.as_deref().unwrap_or_default()));
    task.insert("description".to_owned(), json!(description));
    for (key, value) in raw.as_object().into_iter().flatten() {
        let fits = match key.as_str() {
            "id" | "subject" | "description" | "status" | "owner" | "blocks" | "blockedBy" => false,
            "activeForm" => value.is_string(),
            "metadata" => value.is_object(),
            _ => true,
        };
        if fits {
            task.insert(key.clone(), value.clone());
        }
    }
    if let Some(owner) = values.owner {
        task.insert("owner".to_owned(), json!(owner));
    }
    task.insert("status".to_owned(), json!(values.status));
    task.insert("blocks".to_owned(), json!(values.blocks));
    task.insert("blockedBy".to_owned(), json!(values.blocked_by));
    serde_json::to_vec_pretty(&Value::Object(task))
}

#[cfg(test)]
mod tests;
