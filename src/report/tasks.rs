//! The history of each task.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::input::{ReportInput, Spans};
use crate::timeline::{Entry, Kind, TaskEntry};
use teamkeep_core::client::team::Task;
use teamkeep_core::model::TaskStatus;
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHistory {
    pub id: String,
    pub subject: Option<String>,
    pub description: Option<String>,
    /// Its last status; `deleted` if an agent deleted it.
    pub status: TaskStatus,
    pub owner: Option<String>,
    pub removed_at: Option<Timestamp>,
    pub blocked_by: Vec<String>,
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub at: Timestamp,
    /// The author; `client` for Claude Code itself, `unknown` if unknown.
    pub by: String,
    pub kind: Kind,
    pub from: Option<TaskStatus>,
    pub to: Option<TaskStatus>,
    pub owner_from: Option<String>,
    pub owner: Option<String>,
    pub subject: Option<String>,
}

pub fn histories(case: &ReportInput<'_>) -> Vec<TaskHistory> {
    let mut histories: BTreeMap<&str, Vec<(&Entry, &TaskEntry)>> = BTreeMap::new();
    for entry in case.entries {
        if let Some(task) = entry.task() {
            histories.entry(&task.id).or_default().push((entry, task));
        }
    }
    let mut histories: Vec<TaskHistory> =
        histories.into_iter().map(|(id, entries)| history(case, id, &entries)).collect();
    histories.sort_by_key(|task| (task.id.parse::<u64>().unwrap_or(u64::MAX), task.id.clone()));
    histories
}

fn history(case: &ReportInput<'_>, id: &str, entries: &[(&Entry, &TaskEntry)]) -> TaskHistory {
    let mut changes: Vec<Change> = Vec::new();
    for (entry, task) in entries {
        let before = changes.last();
        let owner = match task.to {
            Some(_) => task.owner.clone(),
            None => before.and_then(|before| before.owner.clone()),
        };
        changes.push(Change {
            at: entry.at,
            by: entry.actor.clone(),
            kind: entry.kind(),
            from: task.from.clone(),
            to: task.to.clone(),
            owner_from: before.and_then(|before| before.owner.clone()),
            owner,
            subject: task.subject.clone(),
        });
    }
    let last = changes.last();
    let deleted = last.is_some_and(|last| last.kind == Kind::TaskDeleted);
    let status = changes.iter().rev().find_map(|change| change.to.clone());
    let states = case.data.history.tasks.iter().filter(|(_, task, _)| task == id);
    let states: Vec<&Task> = states.filter_map(|(_, _, task)| task.as_ref()).collect();
    let blockers = states.iter().flat_map(|task| task.ids("blockedBy"));
    let blocked_by: BTreeSet<(u64, String)> =
        blockers.map(|id| (id.parse().unwrap_or(u64::MAX), id)).collect();
    let description = states.last().and_then(|task| task.raw.get("description")?.as_str());
    TaskHistory {
        id: id.to_owned(),
        subject: changes.iter().rev().find_map(|change| change.subject.clone()),
        description: description.map(str::to_owned),
        status: if deleted { TaskStatus::Deleted } else { status.unwrap_or_else(TaskStatus::unknown) },
        owner: last.and_then(|last| last.owner.clone()),
        removed_at: last.filter(|last| last.to.is_none() || deleted).map(|last| last.at),
        blocked_by: blocked_by.into_iter().map(|(_, id)| id).collect(),
        changes,
    }
}

impl TaskHistory {
    pub fn is_unfinished(&self) -> bool {
        !self.status.is_done()
    }

    pub fn unfinished(&self, end: i64) -> Spans {
        self.spans(end, |_| true)
    }

    pub fn owned_by(&self, name: &str, end: i64) -> Spans {
        self.spans(end, |change| change.owner.as_deref() == Some(name))
    }

    pub fn spans(&self, end: i64, is_part: impl Fn(&Change) -> bool) -> Spans {
        let is_open = |change: &Change| change.to.as_ref().is_some_and(|status| !status.is_done());
        let until = self.changes.iter().skip(1).map(|change| change.at.millis()).chain([end]);
        let part = self.changes.iter().zip(until).filter(|(change, _)| is_open(change) && is_part(change));
        Spans::of(part.map(|(change, until)| (change.at.millis(), until)))
    }
}
