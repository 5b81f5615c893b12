//! The integration tests: one binary, one file a subcommand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod home;
mod install;
mod log;
mod settings_text;
mod uninstall;
