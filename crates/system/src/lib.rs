//! The system as the other crates use it: bounded reading and atomic writing of files, locks, processes, git and its worktrees, paths,
//! the clock, the environment, and errors with hints. [`os`] has all that depends on the system.

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
#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(windows, path = "windows/mod.rs")]
pub mod os;
pub mod paths;
pub mod process;
pub mod signals;
pub mod stdin;
pub mod store_lock;
pub mod worktree;
