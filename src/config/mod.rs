//! `teamkeep.toml`: as written, and as meant. Without a file the defaults stand, and no parser runs.

pub mod keys;
mod load;
mod meant;
pub mod pattern;
mod policy;
mod value;

pub use load::TEMPLATE;
pub use meant::{Archive, Config, Hook, Log, OnFailure};
pub use policy::*;
