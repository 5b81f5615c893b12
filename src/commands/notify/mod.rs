//! `teamkeep notify`: sends a test notification. `teamkeep notify watch`, which is hidden from users: the notifier, which a
//! hook call starts, and which sends notifications about a running team.

mod look;
mod test;
mod watch;

use std::process::ExitCode;

use crate::context::Context;
use teamkeep_core::error::Result;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Send a test notification to the configured destinations
    Test(test::Args),
    /// Send notifications about a run until its team ends
    #[command(hide = true)]
    Watch(watch::Args),
    /// Print the incidents of a run as JSON
    #[command(hide = true)]
    Look(look::Args),
}

pub fn run(context: Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Test(args) => test::run(&context, args),
        Command::Watch(args) => watch::run(context, args),
        Command::Look(args) => look::run(&context, args),
    }
}
