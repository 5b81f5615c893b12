//! `teamkeep config init`: a file to begin with.

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
    /// Write over the file that is there
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep config init
  teamkeep config init --force";

/// Runs it.
///
/// # Errors
/// When there is a file already, or it cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let path = &context.paths.config;
    if args.force {
        // A link stays one: the user keeps the file elsewhere.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        fs::write_atomic(&real, TEMPLATE.as_bytes(), true)?;
    } else {
        let mut options = std::fs::OpenOptions::new();
        let opened = fs::open_private(options.write(true).create_new(true), path);
        let mut file = opened.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Error::new(format!("there is a configuration file already: {}", path.display()))
                    .hint("write over it, what you have set is lost then: teamkeep config init --force")
            }
            _ => Error::from(error),
        })?;
        let written = file.write_all(TEMPLATE.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| Error::from(fs::named(error, "write", path)))?;
    }
    context.ui.say(&format!("wrote {}: every key is at its default", path.display()));
    Ok(ExitCode::SUCCESS)
}
