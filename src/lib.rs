//! The flight recorder for Claude Code agent teams. The map, in the order of the data:
//!
//! stdin → [`payload`] → [`identity`] → [`event`] → [`log`] and [`archive`] → [`response`]: [`recorder`] leads one hook
//! call along that way, and asks [`gatekeeper`] whether what is about to happen may; that gathers what is known, and
//! [`policy`] decides, as [`config`] says;
//! When a run has ended, [`retention`] copies its events into the run, so that the log can drop them;
//! later [`timeline`] merges what was kept, [`backtest`] leads it before a policy, [`report`] draws up what it amounts
//! to, [`status`] says how the teams stand that are alive, [`restore`] gives it back, and [`render`] tells it.
//! [`settings`] puts the hooks into the client's settings, and [`doctor`] looks whether all of that is set up.

pub mod archive;
pub mod backtest;
pub mod bundle;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod context;
pub mod demo;
pub mod diagnostics;
pub mod doctor;
pub mod env;
pub mod error;
pub mod event;
pub mod fs;
pub mod gatekeeper;
pub mod identity;
pub mod json;
pub mod log;
pub mod near;
pub mod panics;
pub mod paths;
pub mod payload;
pub mod policy;
pub mod process;
pub mod prune;
pub mod recorder;
pub mod redact;
pub mod render;
pub mod report;
pub mod response;
pub mod restore;
pub mod retention;
pub mod settings;
pub mod status;
pub mod team;
pub mod timeline;
pub mod ui;
pub mod unicode;
pub mod veil;
pub mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs a command line. A plain hook call goes past the parser: it is in somebody else's hot path.
pub fn run(args: Vec<OsString>) -> ExitCode {
    fs::outlive_limits();
    fs::keep_own_rights();
    match commands::hook::plain(&args) {
        Some(hook) => {
            panics::end_with(panics::IN_A_HOOK);
            commands::hook::run(&hook)
        }
        None => {
            panics::end_with(panics::IN_A_COMMAND);
            cli::main(&args)
        }
    }
}
