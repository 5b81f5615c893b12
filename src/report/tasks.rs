//! The history of each task.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input::{ReportInput, millis};
use super::intervals::Spans;
use crate::model::TaskStatus;
use crate::timeline::{Entry, TaskEntry};

/// A task from its creation to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHistory {
    /// Its id.
    pub id: String,
    /// Its last subject.
    pub subject: Option<String>,
    /// Its description, if a file has it.
    pub description: Option<String>,
    /// Its last status; `deleted` if an agent deleted it.
    pub status: TaskStatus,
    /// Its last owner.
    pub owner: Option<String>,
    /// When it was removed, if it was.
    pub removed_at: Option<String>,
    /// The tasks that it depends on.
    pub blocked_by: Vec<String>,
    /// All changes by time.
    pub changes: Vec<Change>,
}

/// One change of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When, RFC 3339.
    pub at: String,
    /// The author; `client` for Claude Code itself, `unknown` if unknown.
    pub by: String,
    /// `task-created`, `task-found`, `task-changed`, `task-completed`, `task-deleted` or `task-erased`.
    pub kind: String,
    /// The status before; `None` for a new task.
    pub from: Option<TaskStatus>,
    /// The status after; `None` for a removed task.
    pub to: Option<TaskStatus>,
    /// The owner before.
    pub owner_from: Option<String>,
    /// The owner after.
    pub owner: Option<String>,
    /// The subject after.
    pub subject: Option<String>,
}

/// The history of each task, by id.
pub fn lives(case: &ReportInput<'_>) -> Vec<TaskHistory> {
    let mut lives: BTreeMap<&str, Vec<(&Entry, &TaskEntry)>> = BTreeMap::new();
    for entry in case.entries {
        if let Some(task) = entry.task() {
            lives.entry(&task.id).or_default().push((entry, task));
        }
    }
    let mut lives: Vec<TaskHistory> =
        lives.into_iter().map(|(id, entries)| life(case, id, &entries)).collect();
    lives.sort_by_key(|life| (life.id.parse::<u64>().unwrap_or(u64::MAX), life.id.clone()));
    lives
}

fn life(case: &ReportInput<'_>, id: &str, entries: &[(&Entry, &TaskEntry)]) -> TaskHistory {
    let mut changes: Vec<Change> = Vec::new();
    for (entry, task) in entries {
        let before = changes.last();
        let owner = match task.to {
            Some(_) => task.owner.clone(),
            None => before.and_then(|before| before.owner.clone()),
        };
        changes.push(Change {
            at: entry.at.clone(),
            by: entry.actor.clone(),
            kind: entry.kind().word(),
            from: task.from.clone(),
            to: task.to.clone(),
            owner_from: before.and_then(|before| before.owner.clone()),
            owner,
            subject: task.subject.clone(),
        });
    }
    let last = changes.last();
    let deleted = last.is_some_and(|last| last.kind == "task-deleted");
    let status = changes.iter().rev().find_map(|change| change.to.clone());
    let states = case.material.history.tasks.iter().filter(|(_, task, _)| task == id);
    let states: Vec<&Value> = states.filter_map(|(_, _, task)| Some(&task.as_ref()?.raw)).collect();
    let blocked_by: BTreeSet<(u64, String)> = states
        .iter()
        .flat_map(|raw| ids(raw.get("blockedBy")))
        .map(|id| (id.parse().unwrap_or(u64::MAX), id))
        .collect();
    let description = states.last().and_then(|raw| raw.get("description")?.as_str());
    TaskHistory {
        id: id.to_owned(),
        subject: changes.iter().rev().find_map(|change| change.subject.clone()),
        description: description.map(str::to_owned),
        status: if deleted { TaskStatus::Deleted } else { status.unwrap_or_else(TaskStatus::unknown) },
        owner: last.and_then(|last| last.owner.clone()),
        removed_at: last.filter(|last| last.to.is_none() || deleted).map(|last| last.at.clone()),
        blocked_by: blocked_by.into_iter().map(|(_, id)| id).collect(),
        changes,
    }
}

/// A list of task ids in any format of Claude Code.
fn ids(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let id = |value: &Value| match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    };
    list.iter().filter_map(id).collect()
}

impl TaskHistory {
    /// Whether it was unfinished when last seen.
    pub fn is_unfinished(&self) -> bool {
        !self.status.is_done()
    }

    /// The spans in which the task was unfinished.
    pub fn unfinished(&self, end: i64) -> Spans {
        self.spans(end, |_| true)
    }

    /// The spans in which this agent owned the unfinished task.
    pub fn owned_by(&self, name: &str, end: i64) -> Spans {
        self.spans(end, |change| change.owner.as_deref() == Some(name))
    }

    fn spans(&self, end: i64, is_part: impl Fn(&Change) -> bool) -> Spans {
        let is_open = |change: &Change| change.to.as_ref().is_some_and(|status| !status.is_done());
        let until = self.changes.iter().skip(1).map(|change| millis(&change.at)).chain([end]);
        let part = self.changes.iter().zip(until).filter(|(change, _)| is_open(change) && is_part(change));
        Spans::of(part.map(|(change, until)| (millis(&change.at), until)))
    }
}
