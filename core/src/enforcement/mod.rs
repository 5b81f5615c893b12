//! Applies the policy at a hook call: collects the facts, judges, counts, and stores the result.

mod access;
mod completion;
mod evaluation;
mod file_log;
mod gate_state;
mod origin;
mod overrides;
mod request;
mod snapshot_reader;
mod spending;
mod spent_log;
mod transcript_tail;
mod working_tree;

pub use access::access;
pub use evaluation::{Evaluation, Findings, VERDICT, decide, evaluate, line};
pub use gate_state::{GateState, GateStateStore, solo_run};
pub use overrides::{FoundOverrides, LONGEST_PAUSE, OverrideFile, Overrides, Pause};
pub use request::PolicyRequest;
pub use snapshot_reader::SnapshotReader;
pub use spending::RunSpending;
