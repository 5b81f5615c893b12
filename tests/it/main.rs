//! The integration tests: one binary, one file a subcommand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod architecture;
mod bad_input;
mod captures;
mod damage;
mod docs;
mod home;
mod install;
mod log;
mod many;
mod messages;
mod places;
mod play;
mod policy_commands;
mod policy_files;
mod properties;
mod reenact;
mod runs;
mod settings_text;
mod sightings;
mod stage;
mod team_delete;
mod traces;
mod uninstall;
