//! One file a subcommand, named as the user types it. Some of them share [`place`], `needs`, `output`, `reading` and
//! `unmatched`.

pub mod config;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod finish;
pub mod hook;
pub mod import;
pub mod install;
pub mod log;
mod moment;
mod needs;
mod output;
pub mod place;
pub mod policy;
pub mod prune;
mod reading;
pub mod replay;
pub mod report;
pub mod restore;
pub mod show;
pub mod status;
pub mod teams;
pub mod uninstall;
mod unmatched;
pub mod verify;
