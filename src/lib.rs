//! The flight recorder for Claude Code agent teams. The map, in the order of the data:
//!
//! stdin → [`payload`] → [`identity`] → [`event`] → [`log`] and [`archive`] → [`response`];
//! later [`timeline`] merges what was kept and [`render`] tells it.

pub mod cli;
pub mod clock;
pub mod commands;
pub mod context;
pub mod env;
pub mod error;
pub mod fs;
pub mod paths;
pub mod settings;
pub mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs a command line. A plain hook call goes past the parser: it is in somebody else's hot path.
pub fn run(args: Vec<OsString>) -> ExitCode {
    match commands::hook::plain(&args) {
        Some(hook) => commands::hook::run(&hook),
        None => cli::main(&args),
    }
}
