//! One file a subcommand, named as the user types it; [`place`] is what two of them share.

pub mod demo;
pub mod finish;
pub mod hook;
pub mod install;
pub mod log;
pub mod place;
pub mod policy;
mod reading;
pub mod replay;
pub mod show;
pub mod teams;
pub mod uninstall;
