//! The system as the other crates use it: bounded reading and atomic writing of files, locks, processes, git and its worktrees, paths,
//! the clock, the environment, and errors with hints.

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
