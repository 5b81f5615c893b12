//! `doctor`: its checks, and the fixes of `--fix`.

pub mod checks;
pub mod enable_teams;
mod hooks;
pub mod managed;
pub mod settings;
pub mod store;
