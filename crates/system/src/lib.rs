//! The system: files, processes, clock and environment. Nothing else touches them.

#![warn(unreachable_pub)]

#[cfg(target_env = "musl")]
mod allocator;
pub mod clock;
pub mod command;
pub mod diagnostics;
pub mod env;
pub mod error;
pub mod fs;
pub mod git;
pub mod paths;
pub mod process;
pub mod signals;
pub mod stdin;
pub mod store_lock;
pub mod worktree;
