//! The integration tests: one binary, one file a subcommand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod architecture;
mod asked;
mod bad_input;
mod captures;
mod crashes;
mod damage;
mod docs;
mod home;
mod install;
mod install_sh;
mod live;
mod log;
mod many;
mod messages;
mod old_panes;
mod origin;
mod overrides;
mod places;
mod play;
mod policy_commands;
mod policy_files;
mod policy_hook;
mod policy_test;
mod properties;
mod reenact;
mod report;
mod restore;
mod restore_files;
mod restore_refused;
mod restore_traces;
mod restore_undo;
mod runs;
mod settings_text;
mod sightings;
mod stage;
mod story;
mod team_delete;
mod traces;
mod uninstall;
mod verify;
mod widths;
