//! Who spoke, and in which team: the client's evidence, one rule a function. "Unknown" is an answer; a guess is not.

mod actor;
mod evidence;
mod memory;
mod team;

pub use actor::{resolve as actor, version};
pub use evidence::Evidence;
pub use memory::Memory;
pub use team::{Concerned, Resolved, concerned, resolve as team};
