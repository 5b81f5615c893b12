//! Reads a store back: the lines of several logs in order, new lines as they come, and work by several threads. No hook call needs
//! it.

#![warn(unreachable_pub)]

mod claims;
mod follow;
pub mod parallel;
mod reader;

pub use claims::Claims;
pub use follow::{Follower, last};
pub use reader::{Range, ReadError, ReadErrors, Reader, read_parallel};
