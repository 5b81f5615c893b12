//! Reads and edits Claude Code's settings.
//!
//! [`layer`] reads each file, and [`hook_command`] finds teamkeep's hooks in it; [`program`] is the program that they run.
//! [`needs`] is the table of hooks that the policy and Claude Code's version need.
//!
//! [`plan`] finds files that have others and computes the new text with [`edit`] and [`document`]; [`mod@file`] writes it, and
//! nothing else in it changes. An install record has the previous content, so that the edit can be undone. It can be undone without
//! that content, too: if teamkeep's entries are the only content of an object or array that teamkeep created, it is removed. Its
//! layout distinguishes it from an empty one of the user's.

pub mod document;
mod edit;
pub mod file;
pub mod hook_command;
pub mod install_records;
pub mod layer;
pub mod managed;
pub mod needs;
pub mod plan;
pub mod program;
pub mod variables;
pub mod version;
