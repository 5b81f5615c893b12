//! `teamkeep policy show`: the active policy.

use std::process::ExitCode;

use crate::commands::config::{self, Part};
use crate::context::Context;
use crate::error::Result;

/// Arguments of `teamkeep policy show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy show
  teamkeep policy show --json | jq -r '.settings[] | [.key, .origin.layer] | @tsv'";

/// Runs it.
///
/// # Errors
/// When `TEAMKEEP_CONFIG` cannot be used, or stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    config::show(context, args.json, Part::Policy)
}
