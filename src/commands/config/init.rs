//! `teamkeep config init`: creates a configuration file.

use std::io::Write;
use std::process::ExitCode;

use crate::config::TEMPLATE;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::fs;

/// Arguments of `teamkeep config init`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep config init
  teamkeep config init --force";

/// Runs it.
///
/// # Errors
/// When the file already exists or cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let path = &context.paths.config;
    if args.force {
        // A symlink is kept: the user stores the file elsewhere.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        fs::write_synced(&real, TEMPLATE.as_bytes())?;
    } else {
        let mut file = fs::create_private(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::new(format!("{} already exists", path.display()))
                .hint("to overwrite (loses your settings): teamkeep config init --force"),
            _ => Error::from(error),
        })?;
        file.write_all(TEMPLATE.as_bytes()).and_then(|()| file.sync_all())?;
    }
    context.ui.eprint_line(&format!("wrote {} with every key at its default", path.display()));
    Ok(ExitCode::SUCCESS)
}
