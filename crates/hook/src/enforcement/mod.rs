//! Applies the policy at a hook call: collects the facts, judges, counts, and stores the result.

mod completion;
mod gate_state;
mod git_access;
mod history_file;
mod judge_event;
mod overrides;
mod resolve_access;
mod snapshot_reader;
mod spending;
mod spent_log;
#[cfg(test)]
mod tests;
mod transcript_tail;

pub use gate_state::{GateState, GateStateStore, run_of_session};
pub use judge_event::{PolicyOutcome, PolicyRequest};
pub use overrides::{FoundOverrides, LONGEST_PAUSE, OverrideFile, Overrides, Pause, allowance_payload};
pub use resolve_access::access;
pub use snapshot_reader::SnapshotReader;
pub use spending::RunSpending;
