//! `teamkeep policy check`: lists the problems of the policy.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::commands::config::{self, Part};
use crate::context::Context;
use crate::error::Result;

/// Arguments of `teamkeep policy check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files to check, instead of the active ones; `.claude/teamkeep.toml` is checked as a project policy
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy check
  teamkeep policy check .claude/teamkeep.toml";

/// Runs it.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    config::check(context, &args.files, Part::Policy)
}
