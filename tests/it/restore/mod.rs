//! `restore`: tasks, files, worktrees, undo.

pub mod files;
#[cfg(unix)]
pub mod odd_worktrees;
pub mod refused;
pub mod tasks;
pub mod traces;
pub mod undo;
#[cfg(unix)]
pub mod worktrees;
