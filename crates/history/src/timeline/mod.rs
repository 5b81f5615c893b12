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
mod run_catalog;
mod run_data;
mod snapshots;
mod state;
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
pub use filter::{Filter, NewEntries};
pub use loaded_event::LoadedEvent;
pub use messages::UnreadCounts;
pub use run_catalog::{Fingerprint, OpenedRun, RunCatalog, homes};
pub use run_data::{ClockMap, RunData, Summary, is_client_gone, open_index, project};
pub use snapshots::{InboxCopy, RunSnapshots, TaskIds};
pub use state::{Departures, Diff, State, Things, diff, state};
pub use tasks::held_until_shutdown;
pub use transcripts::{Cost, DeliveredMessage, ToolOutcome, ToolUse, Transcript, Transcripts, read_note};
pub use turn_ends::{UnsentAnswer, unsent_answers};

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
