//! `teamkeep.toml`: as written, and as meant. Without a file the defaults stand, and no parser runs.

mod load;
mod meant;
mod policy;
mod value;

pub use load::TEMPLATE;
pub use meant::{Archive, Config, Hook, Log, OnFailure};
pub use policy::*;
