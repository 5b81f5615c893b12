//! The command line of teamkeep. A hook call runs in [`teamkeep_hook`]; everything else is here.
//!
//! ```text
//!                       ┌─▶ status ─┐
//! history: report, ─────┼───────────┼─▶ view ─▶ terminal, Markdown, HTML page; watch ─▶ terminal board
//! timeline, search      └─▶ restore ┘
//! store ─▶ backtest, verify, prune
//! ```
//!
//! [`commands`] has one file a command: it parses arguments, calls a module and passes the result to [`view`].
//! [`brief`] has the facts for an agent that has lost its context.
//! [`bundle`] exports and imports runs; [`prune`] and [`verify`] maintain the store; [`notify`] sends incidents of running teams;
//! [`doctor`] checks the installation, which [`teamkeep_settings`] edits. [`demo`] replays an example. [`teamkeep_terminal`] is what
//! every command gets: configuration, paths, terminal.

mod backtest;
mod brief;
pub mod bundle;
pub mod cli;
mod commands;
pub mod demo;
pub mod doctor;
mod notify;
mod prune;
pub mod restore;
pub mod status;
mod usage;
pub mod verify;
pub mod view;
pub mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use teamkeep_system::{diagnostics, os};

/// Runs a command line. A plain hook call skips the argument parser, which would add to every hook's latency.
pub fn run(args: Vec<OsString>) -> ExitCode {
    os::files::report_size_limit();
    os::files::set_umask();
    match commands::hook::plain(&args) {
        Some((event, by)) => {
            diagnostics::exit_on_panic(diagnostics::HOOK_PANIC_EXIT_CODE, || {});
            teamkeep_hook::run(event.as_deref(), by)
        }
        None => {
            diagnostics::exit_on_panic(diagnostics::COMMAND_PANIC_EXIT_CODE, watch::close);
            cli::main(&args)
        }
    }
}
