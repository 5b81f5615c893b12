//! `teamkeep policy`: one file per subcommand. Some of them share [`scope`].

mod allow;
mod event;
mod explain;
mod gate_trace;
mod pause;
mod policy_source;
mod scope;
mod test;
mod test_cases;
mod trust;

pub use trust::wants;

use std::process::ExitCode;

use crate::commands::config::{self, Part};
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
    /// Validate the policy in the configuration files
    #[command(
        after_help = "Examples:\n  teamkeep policy check\n  teamkeep policy check .claude/teamkeep.toml"
    )]
    Check(config::check::Args),
    /// Show the active policy: each key, its value and origin
    #[command(
        after_help = "Examples:\n  teamkeep policy show\n  teamkeep policy show --json | jq -r '.settings[] | [.key, .origin.layer] | @tsv'"
    )]
    Show(config::show::Args),
    /// Trust this project's checks and rules (until the file changes)
    Trust(trust::Args),
    /// Backtest a policy against recorded runs
    Test(test::Args),
    /// Explain what the policy decides for a recorded event, or for a payload on stdin
    Explain(explain::Args),
    /// Temporarily disable one gate, or all of them
    Pause(pause::PauseArgs),
    /// End pauses and remove allowances
    Resume(pause::ResumeArgs),
    /// Allow one action once
    Allow(allow::Args),
    /// List active pauses and allowances
    Pauses(pause::ListArgs),
}

/// Runs it.
///
/// # Errors
/// As the subcommand fails.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Check(args) => config::check::run(context, args, Part::Policy),
        Command::Show(args) => config::show::run(context, args, Part::Policy),
        Command::Trust(args) => trust::run(context, args),
        Command::Test(args) => test::run(context, args),
        Command::Explain(args) => explain::run(context, args),
        Command::Pause(args) => pause::pause(context, args),
        Command::Resume(args) => pause::resume(context, args),
        Command::Allow(args) => allow::run(context, args),
        Command::Pauses(args) => pause::list(context, args),
    }
}
