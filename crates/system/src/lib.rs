//! The system as the other crates use it: bounded reading and atomic writing of files, locks, processes, git and its worktrees, paths,
//! the clock, the environment, errors with hints, and the allocator of static programs. [`os`] has all that depends on the system.

#![warn(unreachable_pub)]

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
pub mod store_lock;
pub mod worktree;

/// musl's own allocator takes a third of the instructions of a hook call, and maps its memory page by page.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: talc::TalcLock<
    spinning_top::RawSpinlock,
    talc::source::GlobalAllocSource<std::alloc::System>,
> = talc::TalcLock::new(talc::source::GlobalAllocSource::with_block_size(std::alloc::System, BLOCK_BYTES));

/// The size of a block of the allocator, in bytes. Most hook calls need one.
#[cfg(target_env = "musl")]
const BLOCK_BYTES: usize = 64 << 10;
