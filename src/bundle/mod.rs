//! A run as a single file for another machine: a compressed tar whose first entry lists the others.
//!
//! Export: [`gather`] → [`Gathered::write`]. Import: [`unpack`] into a staging directory, and [`Unpacked::install`]
//! into the store only when everything is valid.

mod check;
mod collect;
mod install;
mod manifest;
mod pack;
mod redact_entries;
mod staging;
mod temp_buffer;
mod unpack;

pub use collect::{Bundle, gather, homes};
pub use install::ImportOutcome;
pub use manifest::{Manifest, Part};
pub use redact_entries::RedactingWriter;
pub use unpack::{Limits, UnpackedBundle, unpack};
