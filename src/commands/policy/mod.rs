//! `teamkeep policy`: what the policy says, and would say. One file a subcommand; [`source`] is where a policy comes from.

mod cases;
mod explain;
mod path;
mod source;
mod test;

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
    /// Run recorded runs through a policy: what it would have blocked, and what really happened
    Test(test::Args),
    /// Show how the policy decides on a payload that comes on stdin
    Explain(explain::Args),
}

/// Runs it.
///
/// # Errors
/// As the subcommand fails.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Test(args) => test::run(context, args),
        Command::Explain(args) => explain::run(context, args),
    }
}
