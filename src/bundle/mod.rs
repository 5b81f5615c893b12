//! A run as a single file for another machine: a compressed tar whose first entry lists the others.
//!
//! Export: [`gather`] → [`Bundle::write`]. Import: [`unpack`] into a staging directory, and `install`
//! into the store only when everything is valid.

mod collect;
mod import;
mod manifest;
mod pack;
mod redact_entries;
mod unpack;

pub use collect::{gather, homes};
pub use import::ImportOutcome;
pub use pack::Bundle;
pub use unpack::unpack;
