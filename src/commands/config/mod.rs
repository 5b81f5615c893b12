//! `teamkeep config`: one file per subcommand. [`part`] is what `teamkeep policy` needs of them.

pub mod check;
mod init;
mod part;
mod path;
mod schema;
pub mod show;

pub use part::Part;

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
    /// Validate the configuration files
    #[command(
        after_help = "Examples:\n  teamkeep config check\n  teamkeep config check .claude/teamkeep.toml"
    )]
    Check(check::Args),
    /// Show the active configuration: each key, its value and origin
    #[command(
        after_help = "Examples:\n  teamkeep config show\n  teamkeep config show --json | jq -r '.settings[] | [.key, .origin.layer] | @tsv'"
    )]
    Show(show::Args),
    /// Print the paths of the configuration files
    Path(path::Args),
    /// Create a configuration file with all keys, their defaults and comments
    Init(init::Args),
    /// Print the JSON Schema of the configuration file
    Schema(schema::Args),
}

/// Runs it. No subcommand needs a valid configuration.
///
/// # Errors
/// As the subcommand fails.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Check(args) => check::run(context, args, Part::Whole),
        Command::Show(args) => show::run(context, args, Part::Whole),
        Command::Path(args) => path::run(context, args),
        Command::Init(args) => init::run(context, args),
        Command::Schema(args) => schema::run(context, args),
    }
}
