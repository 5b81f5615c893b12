//! Applies the policy at a hook call: collects the facts, judges, counts, and stores the result.

mod access;
mod completion;
mod judge_event;
mod overrides;
mod spending;
#[cfg(test)]
mod tests;

pub use access::access;
pub use judge_event::{
    GateState, GateStateStore, PolicyOutcome, PolicyRequest, SnapshotReader, run_of_session,
};
pub use overrides::{FoundOverrides, LONGEST_PAUSE, OverrideFile, Overrides, Pause, allowance_payload};
pub use spending::RunSpending;
