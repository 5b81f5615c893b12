//! Plans what to write into a task list. Pure: it uses only its arguments.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::source::{RestorableTask, RestoreSource};
use super::task_list::{MAX_TASK_ID, TaskList};
use teamkeep_model::TaskStatus;
use teamkeep_model::team::Task;
use teamkeep_model::time::Timestamp;
use teamkeep_system::error::{Error, Result};

/// A larger number is replaced, because Claude Code continues from the highest.
const MAX_KEPT_ID: u64 = 999_999_999;

#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub all: bool,
    pub keep_owners: bool,
    /// Whether to write even if a running session uses the list.
    pub force: bool,
    /// Whether the list is the run's own.
    pub own: bool,
}

/// The tasks that a restore writes, and the result.
#[derive(Debug, Default, Serialize)]
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
    /// Whether these are the values before the owner's shutdown, when Claude Code returned the task to pending.
    pub until_shutdown: bool,
    pub blocks: Vec<String>,
    pub blocked_by: Vec<String>,
    pub dropped: Vec<Dropped>,
    /// Whether it is known only from tool calls, without a file.
    #[serde(rename = "told_only")]
    pub from_tools_only: bool,
    /// The content of its file.
    #[serde(skip)]
    pub text: Vec<u8>,
}

/// A reference to a task that is not in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    pub field: &'static str,
    pub task: String,
    pub why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub task: String,
    pub subject: Option<String>,
    pub why: String,
}

/// A task that an earlier restore wrote to the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its number there.
    pub id: String,
    /// Whether it is still there. If not, the team has finished or deleted it since.
    pub exists: bool,
}

/// Makes a plan. `earlier` has the recorded tasks that an earlier restore wrote, whether they still exist or not.
pub fn plan(
    source: &RestoreSource,
    list_now: &TaskList,
    earlier: &BTreeMap<String, Earlier>,
    options: Options,
) -> Result<Plan> {
    let mut links = Links { source, options, ids: BTreeMap::new() };
    let (mut selected, mut left_out): (Vec<&RestorableTask>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    for recorded in source.tasks.values() {
        let RestorableTask { key, task, deleted, .. } = recorded;
        let is_own = options.own && recorded.list().is_none();
        let now = list_now.tasks.get(&task.id).and_then(Option::as_ref).filter(|_| is_own);
        let before = earlier.get(key);
        let why = if let Some(Earlier { id, exists: true }) = before {
            links.ids.insert(key, id.clone());
            format!("already restored as {id}")
        } else if now.is_some_and(|now| now.subject == task.subject) {
            links.ids.insert(key, task.id.clone());
            "already in the list".to_owned()
        } else if let (Some(Earlier { id, .. }), false) = (before, options.all) {
            format!("already restored as {id}, and gone since; --all restores it")
        } else if *deleted && !options.all {
            "deleted; --all restores it".to_owned()
        } else if task.is_done() && !options.all {
            "completed; --all restores it".to_owned()
        } else {
            selected.push(recorded);
            continue;
        };
        left_out.push(LeftOut { task: key.clone(), subject: task.subject.clone(), why });
    }
    let why = || "no complete state was recorded".to_owned();
    let unreadable = source.unreadable.iter();
    left_out.extend(unreadable.map(|path| LeftOut { task: path.clone(), subject: None, why: why() }));
    selected.sort_by_key(|recorded| {
        (recorded.list(), recorded.task.id.parse().unwrap_or(u64::MAX), recorded.key.as_str())
    });
    let ids = allocate_ids(list_now, options, &selected)?;
    links.ids.extend(selected.iter().zip(&ids).map(|(recorded, id)| (recorded.key.as_str(), id.to_string())));
    let writes = selected.iter().map(|recorded| links.write(recorded));
    let tasks = writes.collect::<Result<Vec<TaskWrite>>>()?;
    let mut others = list_now.tasks.values().flatten();
    let is_completed = |task: &TaskWrite| task.status == TaskStatus::Completed;
    let mut notes = Vec::new();
    if !tasks.is_empty() && tasks.iter().all(is_completed) && others.all(Task::is_done) {
        notes.push("Claude Code deletes the tasks of a list when all of them are completed".to_owned());
    }
    Ok(Plan {
        v: 1,
        tasks,
        left_out,
        highwatermark_before: list_now.highwatermark.is_some().then(|| list_now.mark()),
        highwatermark_after: ids.into_iter().fold(list_now.mark(), u64::max),
        notes,
        ..Plan::default()
    })
}

/// Assigns a number to each task: its own if that is free, else the next after all used ones. In a list that is not the
/// run's own, numbers up to the mark are used as well, because they belonged to other tasks.
fn allocate_ids(list_now: &TaskList, options: Options, selected: &[&RestorableTask]) -> Result<Vec<u64>> {
    let mut kept: Vec<Option<u64>> = Vec::new();
    for recorded in selected {
        let id = &recorded.task.id;
        // Claude Code's spelling of a number.
        let number = id.parse().ok().filter(|number: &u64| number.to_string() == *id);
        kept.push(number.filter(|number| {
            let was_its = options.own && recorded.list().is_none();
            (1..=MAX_KEPT_ID).contains(number)
                && !list_now.tasks.contains_key(id)
                && (was_its || *number > list_now.mark())
                && !kept.contains(&Some(*number))
        }));
    }
    let mut last = kept.iter().flatten().copied().fold(list_now.highest_id(), u64::max);
    if last > MAX_TASK_ID - kept.len() as u64 {
        return Err(Error::new(format!("the list has used the ID {last}, and there is no higher one"))
            .hint("choose another list"));
    }
    let mut next = || {
        last += 1;
        last
    };
    Ok(kept.into_iter().map(|id| id.unwrap_or_else(&mut next)).collect())
}

/// The numbers that tasks have in the list.
struct Links<'a> {
    source: &'a RestoreSource,
    options: Options,
    /// The key of a recorded task → its number in the list.
    ids: BTreeMap<&'a str, String>,
}

impl Links<'_> {
    fn write(&self, recorded: &RestorableTask) -> Result<TaskWrite> {
        let (task, keep_owners) = (&recorded.task, self.options.keep_owners);
        let (was_status, was_owner) = match &recorded.until_shutdown {
            Some((status, owner)) => (Some(status.clone()), Some(owner.clone())),
            None => (task.status.clone(), task.owner.clone()),
        };
        let status = match &was_status {
            Some(TaskStatus::InProgress) if keep_owners => TaskStatus::InProgress,
            Some(TaskStatus::Completed) => TaskStatus::Completed,
            _ => TaskStatus::Pending,
        };
        // A completed task keeps its owner. For others, the owner would be a claim on the remaining work.
        let keeps_owner = keep_owners || status == TaskStatus::Completed;
        let mut dropped = Vec::new();
        let mut write = TaskWrite {
            id: self.ids.get(recorded.key.as_str()).cloned().unwrap_or_default(),
            was: recorded.key.clone(),
            subject: task.subject.clone().unwrap_or_default(),
            status,
            was_status,
            owner: was_owner.clone().filter(|_| keeps_owner),
            was_owner,
            until_shutdown: recorded.until_shutdown.is_some(),
            blocks: self.references(recorded, "blocks", &mut dropped),
            blocked_by: self.references(recorded, "blockedBy", &mut dropped),
            dropped,
            from_tools_only: recorded.from_tools_only,
            text: Vec::new(),
        };
        write.text = write.file_content(&task.raw).map_err(Error::from_json)?;
        Ok(write)
    }

    /// The referenced tasks by their numbers in the list; unknown references are dropped.
    fn references(
        &self,
        recorded: &RestorableTask,
        field: &'static str,
        dropped: &mut Vec<Dropped>,
    ) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for id in recorded.task.ids(field) {
            let key = recorded.list().map_or_else(|| id.clone(), |list| format!("{list}/{id}"));
            match self.ids.get(key.as_str()) {
                // A task does not depend on itself, and each dependency is listed once.
                _ if key == recorded.key => {}
                Some(id) if ids.contains(id) => {}
                Some(id) => ids.push(id.clone()),
                None => {
                    let why = match self.source.tasks.get(&key) {
                        Some(other) if other.deleted => "deleted",
                        Some(other) if other.task.is_done() => "already completed",
                        Some(_) => "not restored",
                        None => "not recorded",
                    };
                    dropped.push(Dropped { field, task: key, why });
                }
            }
        }
        ids
    }
}

impl TaskWrite {
    /// The file's content, with unknown keys, in Claude Code's format: indented by two spaces, without a final line break.
    /// Claude Code ignores a task with missing or invalid texts or lists.
    fn file_content(&self, recorded: &Value) -> serde_json::Result<Vec<u8>> {
        let description = recorded.get("description").and_then(Value::as_str).unwrap_or_default();
        let head = [("id", &self.id[..]), ("subject", &self.subject), ("description", description)];
        let mut task: Map<String, Value> =
            head.map(|(key, text)| (key.to_owned(), json!(text))).into_iter().collect();
        for (key, value) in recorded.as_object().into_iter().flatten() {
            let is_kept = match key.as_str() {
                "id" | "subject" | "description" | "status" | "owner" | "blocks" | "blockedBy" => false,
                "activeForm" => value.is_string(),
                "metadata" => value.is_object(),
                _ => true,
            };
            if is_kept {
                task.insert(key.clone(), value.clone());
            }
        }
        if let Some(owner) = &self.owner {
            task.insert("owner".to_owned(), json!(owner));
        }
        task.insert("status".to_owned(), json!(self.status));
        task.insert("blocks".to_owned(), json!(self.blocks));
        task.insert("blockedBy".to_owned(), json!(self.blocked_by));
        serde_json::to_vec_pretty(&Value::Object(task))
    }
}

#[cfg(test)]
mod tests;
