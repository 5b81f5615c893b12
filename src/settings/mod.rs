//! The client's `settings.json`, edited without disturbing it.
//!
//! [`needs`] computes the hooks that the policy in force needs, [`entries`] writes them, and [`coverage`] finds rules that
//! the installed hooks do not cover. [`plan`] computes the text that has it (or has it no longer),
//! [`file`] puts that text in place, and [`record`] remembers how the file was. [`beside`] tells the plugin's hook when to
//! leave an event to the settings'.
//!
//! The edit is textual and can be undone without any memory: where our entries stand alone in a place
//! that we made, the place goes with them; how they are laid out tells it from one that was there, empty.

pub mod beside;
pub mod call;
pub mod change;
pub mod client;
pub mod command;
pub mod coverage;
pub mod diff;
pub mod document;
pub mod entries;
pub mod file;
pub mod flaw;
pub mod found;
pub mod insert;
pub mod installed;
pub mod known;
pub mod layer;
pub mod layout;
pub mod likeness;
pub mod locate;
pub mod matching;
pub mod needs;
pub mod plan;
pub mod read;
pub mod record;
pub mod remove;
pub mod splice;
pub mod tools;
pub mod version;
