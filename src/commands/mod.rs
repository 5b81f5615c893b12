//! One file a subcommand, named as the user types it.

pub mod finish;
pub mod hook;
pub mod install;
pub mod log;
pub mod uninstall;
