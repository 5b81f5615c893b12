//! One hook call, from its payload to a record that outlives the team.

mod ends;
mod finish;
mod learn;
mod record;

pub use finish::{finish, finish_later, unfinished};
pub use record::{Outcome, Recorder};
