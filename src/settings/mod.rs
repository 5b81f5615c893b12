//! Claude Code's settings: reads which hooks are installed, and edits `settings.json` without changing anything else.
//!
//! Reading, which hook calls use as well: [`layer`] reads the settings files and [`hook_command`] finds teamkeep's hooks
//! in them. [`needs`] computes the hooks that the policy in force needs, and [`installed`] finds rules that the installed
//! hooks do not cover. [`plugin_dedupe`] decides when the plugin's hook leaves an event to a hook in the settings.
//!
//! Editing, which imports the modules above and is not imported by them: [`plan`] computes the new text with [`edit`]
//! and [`document`], and [`mod@file`] writes it. [`install_record`] remembers the previous content, so that the edit can
//! be undone. It can be undone without that content, too: if teamkeep's entries are the only content of an object or array
//! that teamkeep created, it is removed. Its layout distinguishes it from an empty one of the user's.

pub mod client;
pub mod document;
pub mod edit;
pub mod file;
pub mod plan;
