//! `teamkeep install`

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

/// Arguments of `teamkeep install`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs it.
///
/// # Errors
/// When the settings cannot be read or written.
pub fn run(_context: &Context, _args: &Args) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
