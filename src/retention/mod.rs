//! What the log may forget. Events of runs that have ended are closed into them first: copied, compressed, into the run's
//! directory. So a segment goes and takes nothing that a run on record needs, and a run goes as a whole.
//!
//! A run that has not ended keeps its segments, whatever the log's bounds say.

mod apply;
mod close;
mod needs;
mod plan;
mod thin;

pub use apply::{Pruned, Right, apply};
pub use close::close;
pub use needs::{Needs, parts};
pub use plan::{Facts, Plan, Removal, Why, closed, plan};
