//! `teamkeep config`: the configuration file itself.

mod init;
mod path;
mod schema;

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Arguments of `teamkeep config`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Tell where the configuration files are, and whether they exist
    Path(path::Args),
    /// Write a configuration file with every key at its default, each with a comment
    Init(init::Args),
    /// Print the JSON Schema of the file, for editors
    Schema(schema::Args),
}

/// Runs it. None of it needs a configuration that makes sense.
///
/// # Errors
/// As the subcommand fails.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Path(args) => path::run(context, args),
        Command::Init(args) => init::run(context, args),
        Command::Schema(args) => schema::run(context, args),
    }
}
