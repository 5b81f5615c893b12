//! Applies the policy at a hook call: collects the facts, judges, counts, and stores the result.

pub mod completion;
mod evaluation;
mod gate_state;
mod merge_state;
mod origin;
mod overrides;
mod request;
mod snapshot_reader;
mod verdict_line;

pub use evaluation::{Evaluation, evaluate};
pub use gate_state::{GateState, GateStateStore};
pub use merge_state::{merge_session_state, solo_run};
pub use overrides::{FoundOverrides, LONGEST_PAUSE, OverrideFile, Overrides, Pause};
pub use request::PolicyRequest;
pub use snapshot_reader::{SnapshotReader, team_state};
pub use verdict_line::{VERDICT, line};
