//! One file for each command. They share `catalog` (reading the store), `output` and `installation` (Claude Code's hooks).

pub mod brief;
mod catalog;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod hook;
pub mod import;
pub mod install;
mod installation;
pub mod list;
pub mod log;
pub mod notify;
mod output;
pub mod policy;
pub mod prune;
pub mod replay;
pub mod report;
pub mod restore;
pub mod search;
pub mod show;
pub mod status;
pub mod uninstall;
pub mod verify;
pub mod watch;
mod when;
