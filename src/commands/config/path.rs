//! `teamkeep config path`: prints the paths of the configuration files.

use std::path::Path;
use std::process::ExitCode;

use crate::commands::read_context::print;
use crate::context::Context;
use crate::error::Result;
use crate::ui::escape;

/// Arguments of `teamkeep config path`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

const EXAMPLES: &str = "Examples:
  teamkeep config path
  teamkeep config path && teamkeep config check";

/// Runs it.
///
/// # Errors
/// When `TEAMKEEP_CONFIG` cannot be used, or stdout cannot be written.
pub fn run(context: &Context, _args: &Args) -> Result<ExitCode> {
    let files = context.policy_files();
    let mut text = line("user   ", &files.user);
    if let Some(project) = &files.project {
        text.push_str(&line("project", project));
    }
    print(context, &text)?;
    context.check_config_path()?;
    Ok(ExitCode::SUCCESS)
}

fn line(whose: &str, path: &Path) -> String {
    let there = if path.symlink_metadata().is_ok() { "exists" } else { "does not exist" };
    format!("{whose}  {}  ({there})\n", escape(&path.display().to_string()))
}
