//! `teamkeep config schema`: prints the JSON Schema for editors.

use std::process::ExitCode;

use crate::commands::read_context::print_json;
use crate::config::schema::schema;
use crate::context::Context;
use crate::error::Result;

/// Arguments of `teamkeep config schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

const EXAMPLES: &str = "Examples:
  teamkeep config schema > teamkeep.schema.json
  teamkeep config schema | jq '.properties.policy.properties | keys'";

/// Runs it.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(context: &Context, _args: &Args) -> Result<ExitCode> {
    print_json(context, &schema())?;
    Ok(ExitCode::SUCCESS)
}
