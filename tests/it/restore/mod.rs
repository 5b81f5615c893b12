//! `restore`: tasks, files, worktrees, undo.

pub mod files;
pub mod odd_worktrees;
pub mod refused;
pub mod tasks;
pub mod traces;
pub mod undo;
pub mod worktrees;
