//! Unix: all that other systems do in another way. The folder `windows` has the same items.

pub mod access;
#[cfg_attr(target_vendor = "apple", path = "apple.rs")]
#[cfg_attr(not(target_vendor = "apple"), path = "proc.rs")]
mod details;
pub mod files;
pub mod input;
pub mod places;
pub mod process;
pub mod terminal;
