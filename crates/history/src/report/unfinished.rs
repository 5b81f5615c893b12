//! Why each unfinished task is unfinished: what it waited for, and what became of the task at the end of that chain.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::incidents::Incident;
use super::tasks::TaskHistory;
use teamkeep_model::TaskStatus;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedTask {
    pub task: String,
    /// The unfinished tasks that it waited for, each for the next one. It is empty if the task was ready or started.
    pub waited_for: Vec<String>,
    /// What became of the last of them, or of the task itself.
    pub end: TaskEnd,
    /// The agent that left it, returned it, has it, or did not start it.
    pub agent: Option<String>,
    /// The id of the incident that lost it.
    pub incident: Option<String>,
}

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

/// The unfinished tasks, those of the worst incident first, and each after the tasks that it waited for.
pub(super) fn unfinished(
    tasks: &[TaskHistory],
    incidents: &[Incident],
    is_over: bool,
) -> Vec<UnfinishedTask> {
    let open: HashMap<&str, &TaskHistory> =
        tasks.iter().filter(|task| task.is_unfinished()).map(|task| (task.id.as_str(), task)).collect();
    let mut losses: HashMap<&str, usize> = HashMap::new();
    for (place, incident) in incidents.iter().enumerate().filter(|(_, one)| one.cost.tasks_lost > 0) {
        for task in &incident.tasks {
            losses.entry(task).or_insert(place);
        }
    }
    let loss = |id: &str| losses.get(id).copied();
    let row = |task: &&TaskHistory| {
        let (mut waited_for, mut last, mut seen) = (Vec::new(), *task, HashSet::from([task.id.as_str()]));
        // A task in progress does not wait.
        while last.status != TaskStatus::InProgress && last.holds.is_empty() {
            let blockers = last.blocked_by.iter().filter_map(|id| open.get(id.as_str()).copied());
            let blockers = blockers.filter(|blocker| !seen.contains(blocker.id.as_str()));
            // Of several blockers, the one that the same incident lost.
            let Some(next) = blockers.min_by_key(|blocker| loss(&blocker.id) != loss(&task.id)) else {
                break;
            };
            seen.insert(&next.id);
            waited_for.push(next.id.clone());
            last = next;
        }
        let incident = loss(&task.id).map(|place| incidents[place].id.clone());
        let (end, agent) = end_of(last, is_over);
        UnfinishedTask { task: task.id.clone(), waited_for, end, agent, incident }
    };
    let mut rows: Vec<UnfinishedTask> =
        tasks.iter().filter(|task| task.is_unfinished()).map(|task| row(&task)).collect();
    rows.sort_by_key(|row| (loss(&row.task).unwrap_or(usize::MAX), row.waited_for.len()));
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
