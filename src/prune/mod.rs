//! What of the record may go: a survey, a plan that is made of it alone, and its execution.
//!
//! What is alive never goes, nor what `verify` cannot read: nobody knows what would be lost with it.

mod apply;
mod needs;
mod plan;
mod survey;

pub use apply::{Ground, Pruned, apply};
pub use plan::{Bounds, Going, Kept, Plan, Reason, plan, settle};
pub use survey::{Closed, Content, Held, Standing, Survey, survey};
