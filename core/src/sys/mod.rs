//! The system: files, processes, clock and environment. Nothing else touches them.

pub mod clock;
pub mod diagnostics;
pub mod env;
pub mod fs;
pub mod git;
pub mod paths;
pub mod process;
pub mod signals;
pub mod unicode;
pub mod worktree;
