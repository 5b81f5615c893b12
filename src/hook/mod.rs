//! Records one hook call, as a chain of stages. Each stage owns what the stages before it found.
//!
//! [`Parsed`](parse) → [`Captured`](capture) → [`Attributed`](attribute) → [`Recorded`](append) → [`Judged`](judge) →
//! [`Outcome`]. After the response, [`finish()`] and [`prune`] run in a process of their own.

mod append;
mod attribute;
mod background;
mod capture;
mod initial_response;
mod judge;
mod parse;
mod plugin_call;
mod record_verdicts;
mod recorder;
mod respond;
mod run;
mod run_lifecycle;
mod setup;

pub use background::{BackgroundMode, finish, prune};
pub use recorder::{Outcome, Recorder};
pub use run::{CalledBy, run};

/// Maximum length of a quoted text in a message, in characters.
const MAX_CHARS: usize = 300;
