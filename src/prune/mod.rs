//! Deletes old runs: a survey, a plan based on it, and its execution.
//!
//! Running teams are never deleted, nor what `verify` cannot read, because the loss would be unknown.

mod apply;
mod needs;
mod plan;
mod survey;

pub use apply::{Ground, Pruned, apply};
pub use plan::{Bounds, Going, Kept, Plan, Reason, plan, settle};
pub use survey::{Closed, Content, Held, Standing, Survey, survey};
