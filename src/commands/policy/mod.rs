//! `teamkeep policy`: one file a subcommand; [`scope`] and [`record`] are what they share.

mod allow;
mod pause;
mod pauses;
mod record;
mod resume;
mod scope;

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Arguments of `teamkeep policy`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Let a gate, or all, hold nothing back for a time
    Pause(pause::Args),
    /// End pauses before their time
    Resume(resume::Args),
    /// Let one occasion through
    Allow(allow::Args),
    /// List what is let through at present
    Pauses(pauses::Args),
}

/// Runs it.
///
/// # Errors
/// As its subcommands do.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Pause(args) => pause::run(context, args),
        Command::Resume(args) => resume::run(context, args),
        Command::Allow(args) => allow::run(context, args),
        Command::Pauses(args) => pauses::run(context, args),
    }
}
