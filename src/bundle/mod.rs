//! A run as a single file for another machine: a compressed tar whose first entry lists the others.
//!
//! Export: [`gather`] → [`Gathered::write`]. Import: [`unpack`] into a staging directory, and [`Unpacked::install`]
//! into the store only when everything is valid.

mod check;
mod clean;
mod gather;
mod install;
mod manifest;
mod pack;
mod spool;
mod staging;
mod unpack;

pub use clean::Cleaner;
pub use gather::{Gathered, gather, homes};
pub use install::Installed;
pub use manifest::{Manifest, Part};
pub use unpack::{Limits, Unpacked, unpack};
