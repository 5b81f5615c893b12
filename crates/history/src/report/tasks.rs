//! The history of each task.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::input::{ReportInput, Spans};
use crate::timeline::Kind;
use teamkeep_model::TaskStatus;
use teamkeep_model::team::Task;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Hold, LiveState, TaskState};

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
    /// The times in which an agent had it in progress. A new subject does not start it again.
    #[serde(skip)]
    pub holds: Vec<Hold>,
    pub changes: Vec<TaskUpdate>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUpdate {
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

pub(super) fn histories(case: &ReportInput<'_>) -> Vec<TaskHistory> {
    let mut team = LiveState::default();
    let mut changes: HashMap<&str, Vec<TaskUpdate>> = HashMap::new();
    for entry in case.entries {
        let Some(change) = entry.task() else { continue };
        let owner = |team: &LiveState| team.tasks.get(&change.id).and_then(|task| task.owner.clone());
        let owner_from = owner(&team);
        entry.apply_to(&mut team);
        changes.entry(&change.id).or_default().push(TaskUpdate {
            at: entry.at,
            by: entry.actor.clone(),
            kind: entry.kind(),
            from: change.from.clone(),
            to: change.to.clone(),
            owner_from,
            owner: owner(&team),
            subject: change.subject.clone(),
        });
    }
    let mut files: HashMap<&str, Vec<&Task>> = HashMap::new();
    for (_, id, task) in &case.data.snapshots.tasks {
        files.entry(id).or_default().extend(task);
    }
    let snapshots = |(id, task): (&String, &TaskState)| {
        let files = files.get(id.as_str()).map(Vec::as_slice).unwrap_or_default();
        let blockers = files.iter().flat_map(|file| file.ids("blockedBy"));
        let blocked_by: BTreeSet<(u64, String)> =
            blockers.map(|id| (id.parse().unwrap_or(u64::MAX), id)).collect();
        let description = files.last().and_then(|file| file.raw.get("description")?.as_str());
        let status = if task.is_deleted() { Some(TaskStatus::Deleted) } else { task.status.clone() };
        TaskHistory {
            id: id.clone(),
            subject: task.subject.clone(),
            description: description.map(str::to_owned),
            status: status.unwrap_or_else(TaskStatus::unknown),
            owner: task.owner.clone(),
            removed_at: task.removed.as_ref().map(|removal| removal.at),
            blocked_by: blocked_by.into_iter().map(|(_, id)| id).collect(),
            holds: task.holds.clone(),
            changes: changes.remove(id.as_str()).unwrap_or_default(),
        }
    };
    let mut histories: Vec<TaskHistory> = team.tasks.iter().map(snapshots).collect();
    histories.sort_by_key(|task| task.id.parse().unwrap_or(u64::MAX));
    histories
}

impl TaskHistory {
    /// Whether this agent had the task in progress before that moment, in milliseconds.
    pub fn is_held(&self, name: &str, at: i64) -> bool {
        self.held_by(name, at).iter().any(|(from, to)| from < at && at <= to)
    }

    /// Whether an agent began it after that moment, in milliseconds, or took it over in progress.
    pub(crate) fn is_taken_up_after(&self, at: i64) -> bool {
        self.changes.iter().filter(|change| change.at.millis() > at).any(|change| {
            let is_new = change.from != Some(TaskStatus::InProgress) || change.owner_from != change.owner;
            change.to == Some(TaskStatus::InProgress) && is_new
        })
    }

    pub fn is_unfinished(&self) -> bool {
        !self.status.is_done()
    }

    pub fn unfinished(&self, end: i64) -> Spans {
        self.spans(end, |_| true)
    }

    pub fn held_by(&self, name: &str, end: i64) -> Spans {
        let own = self.holds.iter().filter(|hold| hold.owner == name);
        Spans::of(own.map(|hold| (hold.from.millis(), hold.to.map_or(end, Timestamp::millis))))
    }

    pub(crate) fn owned_by(&self, name: &str, end: i64) -> Spans {
        self.spans(end, |change| change.owner.as_deref() == Some(name))
    }

    pub fn spans(&self, end: i64, is_part: impl Fn(&TaskUpdate) -> bool) -> Spans {
        let is_open = |change: &TaskUpdate| change.to.as_ref().is_some_and(|status| !status.is_done());
        let until = self.changes.iter().skip(1).map(|change| change.at.millis()).chain([end]);
        let part = self.changes.iter().zip(until).filter(|(change, _)| is_open(change) && is_part(change));
        Spans::of(part.map(|(change, until)| (change.at.millis(), until)))
    }
}
