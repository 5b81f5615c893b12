//! One file a subcommand, named as the user types it.

pub mod finish;
pub mod hook;
pub mod install;
pub mod log;
mod reading;
pub mod replay;
pub mod show;
pub mod teams;
pub mod uninstall;
