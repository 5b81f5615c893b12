//! `teamkeep notify watch`: the notifier, which a hook call starts, and which sends notifications about a running team.
//! `teamkeep config test-notify` sends a test notification.

mod look;
mod test;
mod watch;

use std::process::ExitCode;

pub use test::{Args as TestArgs, run as test};

use teamkeep_system::error::Result;
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Send notifications about a run until its team ends
    Watch(watch::Args),
    /// Print the incidents of a run as JSON
    Look(look::Args),
}

pub fn run(context: Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Watch(args) => watch::run(context, args),
        Command::Look(args) => look::run(&context, args),
    }
}
