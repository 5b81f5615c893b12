//! The integration tests: one binary, one file a subcommand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod home;
mod install;
mod log;
mod reenact;
mod settings_text;
mod stage;
mod traces;
mod uninstall;
