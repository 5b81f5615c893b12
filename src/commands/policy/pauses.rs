//! `teamkeep policy pauses`: lists active pauses and exceptions.

use std::process::ExitCode;

use super::scope;
use crate::commands::read_context;
use crate::context::Context;
use crate::error::Result;
use crate::ui::escape;

/// Arguments of `teamkeep policy pauses`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy pauses
  teamkeep policy pauses --json";

/// Runs it.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let now = context.clock.now();
    let mut overrides = scope::file(context)?.read();
    overrides.v = 1;
    overrides.pauses.retain(|pause| pause.is_in_force(now));
    if args.json {
        read_context::print_json(context, &overrides)?;
        return Ok(ExitCode::SUCCESS);
    }
    let pauses = overrides.pauses.iter().map(|pause| format!("paused: {}", scope::told(pause)));
    let shutdowns = overrides.shutdowns.iter().map(|name| format!("allowed once: shutdown of {name}"));
    let lines: String = pauses.chain(shutdowns).map(|line| format!("{}\n", escape(&line))).collect();
    if lines.is_empty() {
        context.ui.eprint_line("no active pauses or allowances");
    }
    read_context::print(context, &lines)?;
    Ok(ExitCode::SUCCESS)
}
