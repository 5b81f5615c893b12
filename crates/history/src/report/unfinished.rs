//! Why each unfinished task is unfinished: the task that it waits for, and what became of it. Both together are a chain to the
//! task that began it.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::incidents::Incident;
use super::tasks::TaskHistory;
use teamkeep_model::TaskStatus;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedTask {
    pub task: String,
    /// The unfinished task that it waits for; `None` if it was ready or started.
    pub waits_for: Option<String>,
    pub end: TaskEnd,
    /// The agent that left it, returned it, has it, or did not start it.
    pub agent: Option<String>,
    /// The id of the incident that lost it.
    pub incident: Option<String>,
}

/// What became of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskEnd {
    /// The agent that had it in progress is gone, or stopped to work on it.
    Left,
    /// Its agent set it back to pending.
    Returned,
    /// An agent has it in progress.
    InProgress,
    /// Its owner did not start it.
    NotStarted,
    /// It has no owner.
    Unassigned,
}

/// The unfinished tasks, those of the worst incident first, and of each incident first those that waited for no other.
pub(super) fn unfinished(
    tasks: &[TaskHistory],
    incidents: &[Incident],
    is_over: bool,
) -> Vec<UnfinishedTask> {
    let open: HashSet<&str> =
        tasks.iter().filter(|task| task.is_unfinished()).map(|task| task.id.as_str()).collect();
    let mut losses: HashMap<&str, usize> = HashMap::new();
    for (place, incident) in incidents.iter().enumerate().filter(|(_, one)| one.cost.tasks_lost > 0) {
        for task in &incident.tasks {
            losses.entry(task).or_insert(place);
        }
    }
    let loss = |id: &str| losses.get(id).copied();
    let row = |task: &TaskHistory| {
        // A task in progress does not wait.
        let may_wait = task.status != TaskStatus::InProgress && task.holds.is_empty();
        let blockers = task.blocked_by.iter().filter(|id| may_wait && open.contains(id.as_str()));
        // Of several blockers, the one that the same incident lost.
        let waits_for = blockers.min_by_key(|id| loss(id) != loss(&task.id)).cloned();
        let incident = loss(&task.id).map(|place| incidents[place].id.clone());
        let (end, agent) = end_of(task, is_over);
        UnfinishedTask { task: task.id.clone(), waits_for, end, agent, incident }
    };
    let mut rows: Vec<UnfinishedTask> = tasks.iter().filter(|task| task.is_unfinished()).map(row).collect();
    rows.sort_by_key(|row| (loss(&row.task).unwrap_or(usize::MAX), row.waits_for.is_some()));
    rows
}

/// What became of a task, and the agent that matters.
fn end_of(task: &TaskHistory, is_over: bool) -> (TaskEnd, Option<String>) {
    let hold = task.holds.last();
    let returned = task.changes.iter().rfind(|change| change.from == Some(TaskStatus::InProgress));
    let is_returned_by = |owner: &str| {
        returned.is_some_and(|change| change.to == Some(TaskStatus::Pending) && change.by == owner)
    };
    match (hold, &task.owner) {
        (Some(hold), _) if is_returned_by(&hold.owner) => (TaskEnd::Returned, Some(hold.owner.clone())),
        (Some(hold), _) if hold.to.is_none() && !is_over => (TaskEnd::InProgress, Some(hold.owner.clone())),
        (Some(hold), _) => (TaskEnd::Left, Some(hold.owner.clone())),
        (None, Some(owner)) if task.status == TaskStatus::InProgress => (TaskEnd::Left, Some(owner.clone())),
        (None, Some(owner)) => (TaskEnd::NotStarted, Some(owner.clone())),
        (None, None) => (TaskEnd::Unassigned, None),
    }
}
