//! One file per command. Commands share [`place`], `needs`, `output`, `problems`, `reading` and `unmatched`.

pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod finish;
pub mod hook;
pub mod import;
pub mod install;
pub mod list;
pub mod log;
mod needs;
mod output;
pub mod policy;
mod problems;
pub mod prune;
mod read_context;
pub mod replay;
pub mod report;
pub mod restore;
pub mod settings_target;
pub mod show;
pub mod status;
mod suggest;
mod time_arg;
pub mod uninstall;
pub mod verify;
