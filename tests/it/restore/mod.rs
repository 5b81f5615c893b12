//! `restore`: tasks, files, undo.

pub mod files;
pub mod refused;
pub mod tasks;
pub mod traces;
pub mod undo;
