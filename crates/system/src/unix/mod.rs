//! Unix: all that other systems do in another way. The folder `windows` has the same items.

pub mod access;
pub mod files;
pub mod input;
pub mod metadata;
pub mod places;
mod proc;
pub mod process;
pub mod signals;
pub mod terminal;
