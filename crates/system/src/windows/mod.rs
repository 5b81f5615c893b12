//! Windows: all that other systems do in another way. The folder `unix` has the same items.

pub mod access;
pub mod files;
pub mod input;
pub mod places;
pub mod process;
pub mod terminal;
