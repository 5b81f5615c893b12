//! A run as one file, to be carried to another machine: a compressed tar whose first entry says what the others are.
//!
//! Out: [`gather`] → [`Gathered::write`]. In: [`unpack`] into a place where nobody looks, and only when all of it was
//! found sound, [`Unpacked::install`] into the record.

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
