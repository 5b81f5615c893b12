//! Applies the policy at a hook call: collects the facts, judges, counts, and stores the result.

pub mod completion;
mod evaluation;
mod gate_state;
mod merge_state;
mod origin;
mod overrides;
mod request;
mod team_state;
mod update_ledger;
mod verdict_line;

pub use evaluation::{Evaluation, evaluate};
pub use gate_state::{GateState, GateStateStore};
pub use merge_state::{merge_session_state, solo_run};
pub use overrides::{FoundOverrides, LONGEST_PAUSE, OverrideFile, Overrides, Pause};
pub use request::PolicyRequest;
pub use team_state::{SnapshotPart, SnapshotReader, TeamFile, team_state, unreadable};
pub use update_ledger::{needs_team_state, update_ledger};
pub use verdict_line::{VERDICT, line};
