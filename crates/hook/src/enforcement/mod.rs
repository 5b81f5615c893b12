//! Applies the policy at a hook call: collects the facts, judges, counts, and stores the result.

mod access;
mod completion;
mod gate_state;
mod judge_event;
mod overrides;
mod snapshot_reader;
mod spending;
#[cfg(test)]
mod tests;

pub use access::access;
pub use gate_state::{GateState, GateStateStore, run_of_session};
pub(crate) use judge_event::PolicyOutcome;
pub use overrides::{FoundOverrides, LONGEST_PAUSE, OverrideFile};
pub use snapshot_reader::SnapshotReader;
pub use spending::RunSpending;
