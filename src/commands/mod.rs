//! One file a subcommand, named as the user types it; [`place`] is what two of them share.

pub mod hook;
pub mod install;
pub mod place;
pub mod uninstall;
