//! The integration tests: one binary, one file a subcommand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails says so")]

mod home;
mod install;
mod settings_text;
mod uninstall;
