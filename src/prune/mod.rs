//! Deletes old runs: a survey, a plan based on it, and its execution.
//!
//! Running teams are never deleted, nor what `verify` cannot read, because the loss would be unknown.

mod apply;
mod inventory;
mod plan;
mod reachability;

pub use apply::{PruneContext, Pruned, apply};
pub use inventory::{Closed, Inventory, RunInventory, RunState, StoredObject, survey};
pub use plan::{Bounds, Plan, PlannedRemoval, Reason, RetainedRun, plan, plan_verified};
