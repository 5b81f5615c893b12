//! The timeline of a run: hooks, snapshots, inboxes and transcripts merged, so that each event appears once.

mod clocks;
mod completions;
mod departures;
mod diff;
mod earlier_life;
mod entry;
mod entry_json;
mod entry_kind;
mod events;
mod filter;
mod fingerprint;
mod history;
mod ids;
mod kind;
mod lifecycle;
mod live_state;
mod log_lines;
mod merge;
mod message_candidate;
mod message_matcher;
mod messages;
mod nested_quotes;
mod new_entries;
mod run_catalog;
mod run_data;
mod state;
mod summary;
pub mod summary_cache;
mod tasks;
mod transcript;
mod transcript_owner;
mod transcripts;
mod verdicts;

pub use clocks::ClockMap;
pub use completions::not_completed;
pub use departures::Departures;
pub use diff::{Diff, Things, diff};
pub use entry::{Entry, Source};
pub use entry_kind::{
    EntryKind, JoinEntry, MessageEntry, MessageEvent, SessionEntry, TaskEntry, TaskEvent, TurnEntry,
    TurnEvent, VerdictEntry,
};
pub use events::{DetailLevel, LoadedEvent, by_run};
pub use filter::Filter;
pub use fingerprint::Fingerprint;
pub use history::{History, Sighting};
pub use ids::TaskIds;
pub use kind::Kind;
pub use live_state::{Activity, LiveState, MemberState, TaskState};
pub use merge::{Timeline, merge};
pub use new_entries::NewEntries;
pub use run_catalog::{OpenedRun, RunCatalog};
pub use run_data::{RunData, is_client_gone};
pub use state::{State, state};
pub use summary::Summary;
pub use transcript::{Cost, DeliveredMessage, Outcome, ToolUse, Transcript};
pub use transcripts::Interval;
pub use transcripts::Transcripts;
