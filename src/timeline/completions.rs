//! TaskCompleted events of tasks that were not completed: Claude Code runs the event also at the end of a turn, for each
//! task in progress.

use std::collections::HashSet;

use super::entry_kind::TaskEntry;
use super::events::LoadedEvent;
use super::merge::Timeline;
use super::run_data::RunData;
use crate::model::TaskStatus;
use crate::payload::Kind;

/// The ids of the TaskCompleted events whose task was provably not completed: the agent has made another hook call since,
/// and the task did not become completed before its next TaskCompleted event, or before the end of the run.
pub fn not_completed(material: &RunData, timeline: &Timeline) -> HashSet<String> {
    let mut found = HashSet::new();
    for (place, event) in material.events.iter().enumerate() {
        let Some(task) = completed_task(material, event) else { continue };
        let later = &material.events[place + 1..];
        let is_over = |later: &LoadedEvent| {
            later.kind != Kind::TaskCompleted && later.ruling.is_none() && later.who() == event.who()
        };
        let next = later.iter().find(|later| completed_task(material, later).as_ref() == Some(&task));
        let changes = timeline.entries.iter().filter_map(|entry| Some((&entry.at, entry.task()?)));
        let changes: Vec<(&String, &TaskEntry)> = changes
            .filter(|(at, change)| change.id == task && next.is_none_or(|next| **at < next.at))
            .collect();
        let is_done = |change: &TaskEntry| change.to == Some(TaskStatus::Completed);
        let became_done = changes.iter().any(|(at, change)| **at >= event.at && is_done(change));
        let is_open = changes.last().is_some_and(|(_, last)| last.to.is_some() && !is_done(last));
        if is_open && !became_done && event.who().is_some() && later.iter().any(is_over) {
            found.insert(event.id.clone());
        }
    }
    found
}

/// The task that a TaskCompleted event names.
fn completed_task(material: &RunData, event: &LoadedEvent) -> Option<String> {
    let id = event.payload.text("task_id").filter(|_| event.kind == Kind::TaskCompleted)?;
    Some(material.history.ids.of_event(event.task_list.as_deref(), id))
}
