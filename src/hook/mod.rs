//! Records one hook call: from the payload to the event and the snapshots.

mod apply_retention;
mod background;
mod capture;
mod deletion;
mod finalize;
mod initial_response;
mod judge;
mod lists;
mod outcome;
mod pipeline;
mod record_verdicts;
mod run_lifecycle;
mod trust_notice;
mod update_session;

pub use apply_retention::prune;
pub use background::{BackgroundMode, finish};
pub use outcome::Outcome;
pub use pipeline::Recorder;
