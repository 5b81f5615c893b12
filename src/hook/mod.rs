//! Records one hook call, as a chain of stages. Each stage owns what the stages before it found.
//!
//! [`Parsed`](parse) → [`Captured`](capture) → [`Attributed`](attribute) → [`Recorded`](append) → [`Judged`](judge) →
//! [`Outcome`]. After the response, [`finish()`] and [`prune`] run in a process of their own.

mod append;
mod apply_retention;
mod attribute;
mod background;
mod capture;
mod deletion;
mod finish;
mod initial_response;
mod judge;
mod outcome;
mod parse;
mod plugin_call;
mod record_verdicts;
mod recorder;
mod respond;
mod run;
mod run_lifecycle;
mod setup;
mod task_lists;
mod trust_notice;
mod warnings;

pub use apply_retention::prune;
pub use background::{BackgroundMode, finish};
pub use outcome::Outcome;
pub use recorder::Recorder;
pub use run::{CalledBy, run};
