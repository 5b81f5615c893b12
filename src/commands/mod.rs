//! One file or folder for each command, or for two that belong together. They share `catalog` (reading the store), `number`
//! (arguments), `output`, and `installation` (Claude Code's hooks).

pub mod brief;
pub mod catalog;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod files;
pub mod hook;
pub mod install;
mod install_managed;
mod installation;
pub mod list;
pub mod log;
pub mod mcp;
pub mod notify;
mod number;
mod output;
pub mod overrides;
pub mod policy;
pub mod prune;
pub mod report;
pub mod restore;
pub mod search;
pub mod ship;
pub mod show;
pub mod status;
pub mod uninstall;
pub mod verify;
pub mod watch;
