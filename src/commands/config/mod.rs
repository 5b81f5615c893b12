//! `teamkeep config`. `teamkeep policy` uses [`check`] and [`show`] for its [`Part`].

pub mod check;
mod init;
pub mod show;

use std::path::Path;
use std::process::ExitCode;

use super::read_context::{print, print_json};
use crate::config::schema::schema;
use crate::context::Context;
use crate::error::Result;
use crate::ui::escape;

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
    #[command(
        after_help = "Examples:\n  teamkeep config path\n  teamkeep config path && teamkeep config check"
    )]
    Path,
    /// Create a configuration file with all keys, their defaults and comments
    Init(init::Args),
    /// Print the JSON Schema of the configuration file
    #[command(
        after_help = "Examples:\n  teamkeep config schema > teamkeep.schema.json\n  teamkeep config schema | jq '.properties.policy.properties | keys'"
    )]
    Schema,
}

/// Runs it. No subcommand needs a valid configuration.
///
/// # Errors
/// As the subcommand fails.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Check(args) => check::run(context, args, Part::Whole),
        Command::Show(args) => show::run(context, args, Part::Whole),
        Command::Path => print_paths(context),
        Command::Init(args) => init::run(context, args),
        Command::Schema => {
            print_json(context, &schema())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Prints the paths of the configuration files. Fails when `TEAMKEEP_CONFIG` cannot be used.
fn print_paths(context: &Context) -> Result<ExitCode> {
    let files = context.policy_files();
    let line = |layer: &str, path: &Path| {
        let state = if path.symlink_metadata().is_ok() { "exists" } else { "does not exist" };
        format!("{layer}  {}  ({state})\n", escape(&path.display().to_string()))
    };
    let project = files.project.as_ref().map(|project| line("project", project));
    print(context, &(line("user   ", &files.user) + &project.unwrap_or_default()))?;
    context.check_config_path()?;
    Ok(ExitCode::SUCCESS)
}

/// A part of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole file.
    Whole,
    /// The policy: `[policy]` and `[[rule]]`.
    Policy,
}

impl Part {
    /// Whether a key such as `policy.max-blocks` or `rule[0].name` is in this part.
    pub fn holds(self, path: &str) -> bool {
        let table = path.split(['.', '[']).next().unwrap_or_default();
        self == Part::Whole || matches!(table, "policy" | "rule")
    }

    /// The command that checks this part.
    pub fn check(self) -> &'static str {
        match self {
            Part::Whole => "teamkeep config check",
            Part::Policy => "teamkeep policy check",
        }
    }
}
