//! Records one hook call: from the payload to the event and the snapshots.

mod answer;
mod changed;
mod conclude;
mod deletion;
mod ends;
mod finish;
mod judge;
mod learn;
mod lists;
mod look;
mod outcome;
mod record;
mod retain;
mod tell;

pub use finish::{Finish, finish};
pub use outcome::Outcome;
pub use record::Recorder;
pub use retain::prune;
