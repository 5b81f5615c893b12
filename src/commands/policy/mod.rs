//! `teamkeep policy`: what the policy says, and would say. One file a subcommand; [`source`] is where a policy comes from.

mod cases;
mod explain;
mod path;
mod source;
mod test;

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run recorded runs through a policy
    Test(test::Args),
    /// Show how the policy decides on a payload that comes on stdin
    Explain(explain::Args),
}

/// Runs one.
///
/// # Errors
/// As the subcommand does.
pub fn run(context: &Context, command: &Command) -> Result<ExitCode> {
    match command {
        Command::Test(args) => test::run(context, args),
        Command::Explain(args) => explain::run(context, args),
    }
}
