//! Which segments of the log are removed. Before that, events of ended runs are closed into them: copied, compressed, into
//! the run's directory. So removing a segment loses nothing that a recorded run needs, and a run is removed as a whole.
//!
//! Segments with events of a run that has not ended are kept, whatever the log's limits are.

mod apply;
mod close;
mod needs;
mod plan;
mod thin;

pub use apply::{Pruned, RetentionLock, apply};
pub use close::close;
pub use needs::{Needs, parts};
pub use plan::{Facts, Plan, Removal, RemovalReason, closed, plan};
