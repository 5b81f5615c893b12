//! Plans what to write into a task list. Pure: it uses only its arguments.

use std::collections::BTreeMap;

use serde::Serialize;

use super::allocate_ids;
use super::links::{Dropped, Links};
use super::source::{RestorableTask, Source};
use super::task::{self, TaskValues};
use super::task_list::TaskList;
use crate::error::{Error, Result};
use crate::model::TaskStatus;

/// The user's options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Include completed and deleted tasks.
    pub all: bool,
    /// Keep owners and `in_progress`.
    pub keep_owners: bool,
    /// Whether the list is the run's own.
    pub own: bool,
}

/// The plan.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// Version of the format: 1.
    pub v: u8,
    /// The run.
    pub run: String,
    /// Its team.
    pub team: Option<String>,
    /// The moment; `None` for the last state of each task.
    pub at: Option<String>,
    /// The list's name.
    pub list: String,
    /// Its directory.
    pub directory: String,
    /// The session that uses the list, if any.
    pub held_by: Option<String>,
    /// The tasks to write.
    pub tasks: Vec<TaskWrite>,
    /// The other tasks.
    pub left_out: Vec<LeftOut>,
    /// The highest number assigned before; `None` if the list has no mark.
    pub highwatermark_before: Option<u64>,
    /// The same afterwards.
    pub highwatermark_after: u64,
    /// Further notes.
    pub notes: Vec<String>,
    /// Whether it was written.
    pub done: bool,
    /// The id for `--undo`.
    pub undo: Option<String>,
}

/// One task to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskWrite {
    /// Its number in the list.
    pub id: String,
    /// Its id in the run.
    pub was: String,
    /// Its subject.
    pub subject: String,
    /// Its status in the list.
    pub status: TaskStatus,
    /// Its status in the run.
    pub was_status: Option<TaskStatus>,
    /// Its owner in the list.
    pub owner: Option<String>,
    /// Its owner in the run.
    pub was_owner: Option<String>,
    /// The tasks that depend on it.
    pub blocks: Vec<String>,
    /// The tasks that it depends on.
    pub blocked_by: Vec<String>,
    /// Dropped references.
    pub dropped: Vec<Dropped>,
    /// Whether it is known only from tool calls, without a file.
    #[serde(rename = "told_only")]
    pub from_tools_only: bool,
    /// The content of the file.
    #[serde(skip)]
    pub text: Vec<u8>,
}

/// A task that is not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its id in the run.
    pub task: String,
    /// Its subject.
    pub subject: Option<String>,
    /// The reason.
    pub why: String,
}

/// Makes a plan. `earlier` returns the number of a task that an earlier restore wrote to this list and that still
/// exists.
///
/// # Errors
/// No numbers are left in the list.
pub fn plan(
    source: &Source,
    list_now: &TaskList,
    earlier: &BTreeMap<String, String>,
    options: Options,
) -> Result<Plan> {
    let mut links = Links::new(source, list_now, options.own);
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
    let given = allocate_ids::allocate_ids(&wanted, list_now, options.own)?;
    for (recorded, id) in wanted.iter().zip(&given) {
        links.note_id(recorded, &id.to_string());
    }
    let puts = wanted.iter().zip(&given).map(|(recorded, id)| plan_task(recorded, *id, &links, options));
    let tasks = puts.collect::<Result<Vec<TaskWrite>>>()?;
    let notes = notes(&tasks, list_now);
    let highest = given.iter().copied().fold(list_now.mark(), u64::max);
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

/// Tasks of the run's own list come first, each list by number.
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
    let terms =
        TaskValues { id, status: &status, owner: owner.as_deref(), blocks: &blocks, blocked_by: &blocked_by };
    let text = task::text(&recorded.task, &terms).map_err(Error::from_json)?;
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

fn notes(tasks: &[TaskWrite], list_now: &TaskList) -> Vec<String> {
    let mut notes = Vec::new();
    let mut there = list_now.tasks.values().flatten();
    if !tasks.is_empty()
        && tasks.iter().all(|task| task.status == TaskStatus::Completed)
        && there.all(|task| task.is_done())
    {
        notes.push("Claude Code deletes the tasks of a list when all of them are completed".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
