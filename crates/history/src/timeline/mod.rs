//! The timeline of a run: hooks, snapshots, inboxes and transcripts merged, so that each event appears once.

mod agents;
mod changes;
mod entry;
mod events;
mod filter;
mod lifecycle;
mod loaded_event;
mod message_matcher;
mod messages;
mod new_entries;
mod run_catalog;
mod run_data;
mod snapshots;
mod state;
mod summary;
mod tasks;
mod transcripts;
mod turn_ends;

pub use agents::{AgentTurn, SharedNames};
pub use changes::{AgentSign, state_after};
pub use entry::{
    DeliveredAnswer, Entry, EntryKind, JoinEntry, Kind, MessageEntry, MessageEvent, SessionEntry, Source,
    StopEntry, TurnEntry, TurnEvent, VerdictEntry, parse_kind,
};
pub use events::{DetailLevel, by_run};
pub use filter::Filter;
pub use loaded_event::LoadedEvent;
pub use messages::UnreadCounts;
pub use new_entries::NewEntries;
pub use run_catalog::{Fingerprint, OpenedRun, RunCatalog, homes};
pub use run_data::{ClockMap, RunData, is_client_gone, open_index};
pub use snapshots::{InboxCopy, RunSnapshots, TaskIds};
pub use state::{Departures, Diff, State, Things, diff, state};
pub use summary::{Summary, project};
pub use tasks::held_until_shutdown;
pub use transcripts::{Cost, DeliveredMessage, ToolOutcome, ToolUse, Transcript, Transcripts, read_note};
pub use turn_ends::{UnsentAnswer, unsent_answers};

use std::collections::HashSet;

use teamkeep_model::TaskStatus;
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::TaskChange;

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
    turn_ends::add_reported(data, &when, &mut entries);
    turn_ends::add_missing(data, &mut entries);
    turn_ends::mark_answers(&mut entries);
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
            later.kind != Event::TaskCompleted && later.verdict.is_none() && later.who() == event.who()
        };
        let next = later.iter().find(|later| completed_task(data, later).as_ref() == Some(&task));
        let changes = timeline.entries.iter().filter_map(|entry| Some((entry.at, entry.task()?)));
        let changes: Vec<(Timestamp, &TaskChange)> = changes
            .filter(|(at, change)| change.id == task && next.is_none_or(|next| *at < next.at))
            .collect();
        let is_done = |change: &TaskChange| change.to == Some(TaskStatus::Completed);
        let became_done = changes.iter().any(|(at, change)| *at >= event.at && is_done(change));
        let is_open = changes.last().is_some_and(|(_, last)| last.to.is_some() && !is_done(last));
        if is_open && !became_done && event.who().is_some() && later.iter().any(is_over) {
            found.insert(event.id().to_owned());
        }
    }
    found
}

fn completed_task(data: &RunData, event: &LoadedEvent) -> Option<String> {
    let id = event.text("task_id").filter(|_| event.kind == Event::TaskCompleted)?;
    Some(data.snapshots.ids.of_event(event.task_list(), id))
}
