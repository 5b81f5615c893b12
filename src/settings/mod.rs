//! Edits Claude Code's `settings.json` without changing anything else in it. Reading it is in
//! [`teamkeep_core::client::settings`], because hook calls read it as well.
//!
//! [`plan`] computes the new text with [`edit`] and [`document`], and [`mod@file`] writes it. An install record has the previous
//! content, so that the edit can be undone. It can be undone without that content, too: if teamkeep's entries are the only
//! content of an object or array that teamkeep created, it is removed. Its layout distinguishes it from an empty one of the
//! user's.

pub mod client;
pub mod document;
pub mod edit;
pub mod file;
mod file_metadata;
pub mod install_records;
pub mod managed;
pub mod plan;
pub mod protection;
pub mod skill;
pub mod variables;
