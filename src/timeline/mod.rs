//! The timeline of a run: hooks, snapshots, inboxes and transcripts merged, so that each event appears once.

mod entry;
mod entry_json;
mod events;
mod filter;
mod history;
mod inbox_history;
mod lifecycle;
mod live_state;
mod loaded_event;
mod merge;
mod message_candidate;
mod message_matcher;
mod messages;
mod new_entries;
mod quoted_tags;
mod run_catalog;
mod run_data;
mod state;
mod summary;
mod tasks;
mod transcript_owners;
mod transcripts;

pub use entry::{
    Entry, EntryKind, JoinEntry, Kind, MessageEntry, MessageEvent, SessionEntry, Source, TaskEntry,
    TaskEvent, TurnEntry, TurnEvent, VerdictEntry, parse_kind,
};
pub use events::{DetailLevel, by_run};
pub use filter::Filter;
pub use history::{History, Sighting, TaskIds};
pub use inbox_history::InboxHistory;
pub use live_state::{LiveState, MemberState, Removal, TaskState};
pub use loaded_event::LoadedEvent;
pub use merge::{Timeline, merge, not_completed};
pub use new_entries::NewEntries;
pub use run_catalog::{Fingerprint, OpenedRun, RunCatalog};
pub use run_data::{ClockMap, RunData, is_client_gone, open_index};
pub use state::{Departures, Diff, State, Things, diff, state};
pub use summary::{Summary, project};
pub use transcripts::{Cost, DeliveredMessage, Outcome, ToolUse, Transcript, Transcripts, read_note};
