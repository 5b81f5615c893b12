//! `doctor`: its checks, and the fixes of `--fix`.

pub mod checks;
pub mod enable_teams;
#[cfg(unix)]
mod hooks;
#[cfg(unix)]
pub mod managed;
pub mod settings;
pub mod store;
