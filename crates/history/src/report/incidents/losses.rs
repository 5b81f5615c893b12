//! Which incident lost which task. Each task that a run left unfinished belongs to one incident: the one that ended the
//! work on it, or else on a task that it waits for.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::draft::{Draft, task_names};
use super::scene::Scene;
use super::stalls::restore;
use super::{IncidentKind, Severity};
use crate::report::tasks::TaskHistory;
use teamkeep_model::TaskStatus;

/// Activity so soon after an incident is its end, in milliseconds.
const LEAVING: i64 = 60_000;

/// Gives each lost task to the cause that explains it, and returns those that none explains.
pub(super) fn assign<'a>(scene: &Scene<'a>, causes: &mut [Draft]) -> Vec<&'a TaskHistory> {
    let lost: Vec<&TaskHistory> = scene.tasks.iter().filter(|task| scene.is_lost(task)).collect();
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for task in &lost {
        let places = (0..causes.len()).filter(|place| explains(scene, &causes[*place], task));
        if let Some(place) = places.min_by_key(|place| rank(causes, *place)) {
            owners.insert(&task.id, place);
        }
    }
    // Then the tasks that wait for these, the nearest first. A task in progress does not wait.
    loop {
        let waiting = lost.iter().filter(|task| task.status != TaskStatus::InProgress);
        let waiting = waiting.filter(|task| !owners.contains_key(task.id.as_str()));
        let found = waiting.filter_map(|task| {
            let places = task.blocked_by.iter().filter_map(|id| owners.get(id.as_str()).copied());
            Some((task.id.as_str(), places.min_by_key(|place| rank(causes, *place))?))
        });
        let found: Vec<(&str, usize)> = found.collect();
        if found.is_empty() {
            break;
        }
        owners.extend(found);
    }
    let mut rest = Vec::new();
    for task in lost {
        match owners.get(task.id.as_str()) {
            Some(place) => causes[*place].lost.push(task.id.clone()),
            None => rest.push(task),
        }
    }
    for cause in causes.iter_mut().filter(|cause| !cause.lost.is_empty()) {
        describe(scene, cause);
    }
    rest
}

/// Whether the cause ended the work on the task: no agent took the task up again, and the cause is a loss, or the agent
/// that had the task in progress did nothing after it.
fn explains(scene: &Scene<'_>, cause: &Draft, task: &TaskHistory) -> bool {
    let end = cause.until();
    if !cause.tasks.contains(&task.id) || task.is_taken_up_after(end) {
        return false;
    }
    let is_last = |agent: &String| scene.next_activity(agent, end + LEAVING).is_none();
    let holder = cause.agents.iter().find(|agent| task.is_held(agent, end));
    cause.is_loss || holder.map_or_else(|| cause.agents.iter().all(is_last), is_last)
}

/// The order of the causes of one loss. A chain only means that a task waited.
fn rank(causes: &[Draft], place: usize) -> (bool, Severity, Reverse<i64>, usize) {
    let cause = &causes[place];
    (cause.kind == IncidentKind::BlockedChain, cause.severity, Reverse(cause.until()), place)
}

/// Adds the lost tasks to the summary, and the command that restores them.
fn describe(scene: &Scene<'_>, cause: &mut Draft) {
    let is_stated = cause.kind == IncidentKind::TasksDeleted && cause.lost == cause.tasks;
    if !is_stated {
        let were = if cause.lost.len() == 1 { "was" } else { "were" };
        cause.summary = format!("{}; {} {were} never completed", cause.summary, task_names(&cause.lost));
    }
    if matches!(cause.kind, IncidentKind::StalledAgent | IncidentKind::FailedAgent) {
        cause.severity = Severity::High;
    }
    if cause.remedy.is_none() {
        cause.remedy = Some(restore(scene));
    }
}
