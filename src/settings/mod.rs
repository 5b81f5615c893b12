//! Edits Claude Code's `settings.json` without changing anything else.
//!
//! [`needs`] computes the hooks that the policy in force needs, [`entries`] writes them, and [`coverage`] finds rules that
//! the installed hooks do not cover. [`plan`] computes the new text with [`edit`], [`mod@file`] writes it, and
//! [`install_record`] remembers the previous content. [`plugin_dedupe`] decides when the plugin's hook leaves an event to a
//! hook in the settings.
//!
//! The edit can be undone without the install record: if teamkeep's entries are the only content of a place
//! that teamkeep created, that place is removed, too. Its layout distinguishes it from an empty place of the user's.

pub mod change;
pub mod client;
pub mod client_events;
pub mod command;
pub mod coverage;
pub mod diff;
pub mod document;
pub mod edit;
pub mod entries;
pub mod error;
pub mod file;
pub mod file_metadata;
pub mod hook_command;
pub mod hook_matcher;
pub mod install_record;
pub mod installed;
pub mod installed_hooks;
pub mod layer;
pub mod needs;
pub mod plan;
pub mod plugin_dedupe;
pub mod scope;
pub mod tools;
pub mod version;
