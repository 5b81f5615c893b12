//! Flight recorder and gatekeeper for Claude Code agent teams. The modules, in the order of the data flow:
//!
//! A hook call: stdin → [`payload`] → the teams concerned ([`attribution`]) → their files ([`archive`]) → who acted, in
//! which run ([`attribution`]) → the event ([`event`], [`log`]) → the verdict ([`enforcement`]) → [`response`]. [`hook`]
//! runs these steps. [`enforcement`] collects facts about the team; [`policy`] decides by them and by [`config`].
//!
//! Code for old versions of Claude Code, and for quirks of one version, is in [`client::compat`].
//!
//! After a run has ended, [`retention`] copies its events into the archive, so that the log can drop them.
//!
//! Commands: [`timeline`] merges all recorded data of a run, [`report`] summarizes it and [`view`] formats it.
//! [`backtest`] evaluates a policy on recorded runs, [`status`] shows running teams, and [`restore`] restores files and
//! tasks. [`settings`] edits Claude Code's settings, and [`doctor`] checks the installation.

pub mod archive;
pub mod attribution;
pub mod backtest;
pub mod bundle;
pub mod cli;
pub mod client;
pub mod clock;
pub mod commands;
pub mod config;
pub mod context;
pub mod demo;
pub mod diagnostics;
pub mod doctor;
pub mod enforcement;
pub mod env;
pub mod error;
pub mod event;
pub mod fs;
pub mod hook;
pub mod json;
pub mod log;
pub mod metadata_only;
pub mod model;
pub mod panics;
pub mod paths;
pub mod payload;
pub mod policy;
pub mod process;
pub mod prune;
pub mod redact;
pub mod report;
pub mod response;
pub mod restore;
pub mod retention;
pub mod settings;
pub mod status;
pub mod suggest;
pub mod team;
pub mod timeline;
pub mod ui;
pub mod unicode;
pub mod verify;
pub mod view;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs a command line. A plain hook call skips the argument parser, which would add to every hook's latency.
pub fn run(args: Vec<OsString>) -> ExitCode {
    fs::ignore_sigxfsz();
    fs::set_umask();
    match commands::hook::plain(&args) {
        Some(hook) => {
            panics::end_with(panics::IN_A_HOOK, || {});
            commands::hook::run(&hook)
        }
        None => {
            panics::end_with(panics::IN_A_COMMAND, ui::terminal::close);
            cli::main(&args)
        }
    }
}
