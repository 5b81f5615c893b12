//! Builds the timeline of a run.

use std::collections::HashSet;

use super::entry::{Entry, TaskEntry};
use super::run_data::{ClockMap, RunData};
use super::{LoadedEvent, lifecycle, messages, tasks};
use teamkeep_core::client::payload::Kind;
use teamkeep_core::model::TaskStatus;
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Default)]
pub struct Timeline {
    pub entries: Vec<Entry>,
    /// Converts Claude Code's times to teamkeep's clock.
    pub when: ClockMap,
}

pub fn merge(data: &RunData) -> Timeline {
    let when = ClockMap::of(data);
    let mut entries = lifecycle::sessions(data);
    entries.extend(lifecycle::team(data));
    entries.extend(tasks::tasks(data));
    entries.extend(messages::messages(data, &when));
    entries.extend(lifecycle::turns(data));
    entries.extend(lifecycle::verdicts(data));
    // Entries of one moment are ordered by kind: a team is created before an agent joins it.
    entries.sort_by_key(|a| (a.at, a.kind()));
    Timeline { entries, when }
}

/// The ids of the TaskCompleted events whose task was provably not completed: the agent has made another hook call since,
/// and the task did not become completed before its next TaskCompleted event, or before the end of the run.
pub fn not_completed(data: &RunData, timeline: &Timeline) -> HashSet<String> {
    let mut found = HashSet::new();
    for (index, event) in data.events.iter().enumerate() {
        let Some(task) = completed_task(data, event) else { continue };
        let later = &data.events[index + 1..];
        let is_over = |later: &LoadedEvent| {
            later.kind != Kind::TaskCompleted && later.verdict.is_none() && later.who() == event.who()
        };
        let next = later.iter().find(|later| completed_task(data, later).as_ref() == Some(&task));
        let changes = timeline.entries.iter().filter_map(|entry| Some((entry.at, entry.task()?)));
        let changes: Vec<(Timestamp, &TaskEntry)> = changes
            .filter(|(at, change)| change.id == task && next.is_none_or(|next| *at < next.at))
            .collect();
        let is_done = |change: &TaskEntry| change.to == Some(TaskStatus::Completed);
        let became_done = changes.iter().any(|(at, change)| *at >= event.at && is_done(change));
        let is_open = changes.last().is_some_and(|(_, last)| last.to.is_some() && !is_done(last));
        if is_open && !became_done && event.who().is_some() && later.iter().any(is_over) {
            found.insert(event.id().to_owned());
        }
    }
    found
}

fn completed_task(data: &RunData, event: &LoadedEvent) -> Option<String> {
    let id = event.text("task_id").filter(|_| event.kind == Kind::TaskCompleted)?;
    Some(data.history.ids.of_event(event.task_list(), id))
}
