//! Each task's life: what it was, who changed it and how, and what became of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::Case;
use crate::timeline::Entry;

/// A task from its making to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLife {
    /// Its id.
    pub id: String,
    /// What it is about, as it was last called.
    pub subject: Option<String>,
    /// What there is to do, where a file held it.
    pub description: Option<String>,
    /// Its last status; `deleted` when an agent deleted it.
    pub status: String,
    /// Who owned it last.
    pub owner: Option<String>,
    /// When it was removed, if it was.
    pub removed_at: Option<String>,
    /// The tasks that had to be completed before it.
    pub blocked_by: Vec<String>,
    /// Every change, by time.
    pub changes: Vec<Change>,
}

/// One change of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When, RFC 3339.
    pub at: String,
    /// Who; `client` for the client itself, `unknown` where nothing tells.
    pub by: String,
    /// `task-created`, `task-found`, `task-changed`, `task-completed`, `task-deleted` or `task-erased`.
    pub kind: String,
    /// The status before; `None` for a task that was not there.
    pub from: Option<String>,
    /// The status after; `None` for a task that is no longer there.
    pub to: Option<String>,
    /// The owner before.
    pub owner_from: Option<String>,
    /// The owner after.
    pub owner: Option<String>,
    /// What it is called after.
    pub subject: Option<String>,
}

/// The tasks' lives, by their ids.
pub fn lives(case: &Case<'_>) -> Vec<TaskLife> {
    let mut lives: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in case.entries.iter().filter(|entry| entry.kind.is_task()) {
        if let Some(id) = &entry.task {
            lives.entry(id).or_default().push(entry);
        }
    }
    let mut lives: Vec<TaskLife> = lives.into_iter().map(|(id, told)| life(case, id, &told)).collect();
    lives.sort_by_key(|life| (life.id.parse::<u64>().unwrap_or(u64::MAX), life.id.clone()));
    lives
}

fn life(case: &Case<'_>, id: &str, told: &[&Entry]) -> TaskLife {
    let mut changes: Vec<Change> = Vec::new();
    for entry in told {
        let before = changes.last();
        let owner = match &entry.owner {
            Some(owner) if entry.to_status.is_some() => owner.clone(),
            _ => before.and_then(|before| before.owner.clone()),
        };
        changes.push(Change {
            at: entry.at.clone(),
            by: entry.actor.clone(),
            kind: entry.kind.word(),
            from: entry.from_status.clone(),
            to: entry.to_status.clone(),
            owner_from: before.and_then(|before| before.owner.clone()),
            owner,
            subject: entry.summary.clone(),
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
    TaskLife {
        id: id.to_owned(),
        subject: changes.iter().rev().find_map(|change| change.subject.clone()),
        description: description.map(str::to_owned),
        status: if deleted { "deleted".to_owned() } else { status.unwrap_or_else(|| "unknown".to_owned()) },
        owner: last.and_then(|last| last.owner.clone()),
        removed_at: last.filter(|last| last.to.is_none() || deleted).map(|last| last.at.clone()),
        blocked_by: blocked_by.into_iter().map(|(_, id)| id).collect(),
        changes,
    }
}

/// A list of task ids, however the client spells them.
fn ids(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let id = |value: &Value| match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    };
    list.iter().filter_map(id).collect()
}

impl TaskLife {
    /// Whether it was still to be done when it was last seen.
    pub fn is_unfinished(&self) -> bool {
        !matches!(self.status.as_str(), "completed" | "deleted")
    }

    /// The spans in which this one owned it unfinished, from when until when, RFC 3339.
    pub fn owned_by<'a>(&'a self, name: &str, end: &'a str) -> Vec<(&'a str, &'a str)> {
        let until = self.changes.iter().skip(1).map(|change| change.at.as_str()).chain([end]);
        let owned = self.changes.iter().zip(until).filter(|(change, _)| {
            change.owner.as_deref() == Some(name)
                && change.to.as_deref().is_some_and(|status| status != "completed" && status != "deleted")
        });
        owned.map(|(change, until)| (change.at.as_str(), until)).collect()
    }
}
