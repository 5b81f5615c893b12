//! `teamkeep import FILE`: adds a run that was exported on another machine.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::read_context;
use crate::bundle::{ImportOutcome, Limits, unpack};
use crate::config;
use crate::context::Context;
use crate::error::{Error, Result};

/// Arguments of `teamkeep import`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// File that `teamkeep export` wrote; `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Maximum unpacked size (default: 4 GiB and 200 times the size of FILE)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
}

/// The default maximum of the unpacked size, in bytes.
const MAX_BYTES: u64 = 4 << 30;

const EXAMPLES: &str = "\
Examples:
  # Import a run and show what happened in it
  teamkeep import parser-team.teamkeep.tar.gz && teamkeep replay parser-team

  # Import a run that unpacks to more than 4 GiB
  teamkeep import big.teamkeep.tar.gz --max-size '16 GiB'";

fn size(text: &str) -> std::result::Result<u64, String> {
    config::parse_size(text)
        .ok_or_else(|| "invalid size; expected a value such as \"4 GiB\" or \"512 MiB\"".to_owned())
}

/// The file and its length, or 0 if that is unknown.
fn open(path: &Path) -> io::Result<(Box<dyn Read>, u64)> {
    if path.as_os_str() == "-" {
        return Ok((Box::new(io::stdin().lock()), 0));
    }
    let file = File::open(path)?;
    let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    Ok((Box::new(file), length))
}

/// Runs it.
///
/// # Errors
/// When the file is not a valid export, a different recording of the same run exists, or a file cannot be written.
/// Nothing is imported then.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let cannot = |error: Error| error.within(format!("cannot import {}", args.file.display()));
    if args.file.as_os_str() == "-" && io::stdin().is_terminal() {
        return Err(Error::usage("cannot read an export from a terminal").hint("name a file, or use a pipe"));
    }
    context.paths.secure()?;
    let (file, length) = open(&args.file).map_err(|error| cannot(error.into()))?;
    let archive = read_context::archive(context);
    let right = archive.maintain(context.config.log.lock_patience)?;
    // Listed under the lock: two imports of one run are one after the other.
    let library = read_context::library(context)?;
    let limits = Limits { largest: args.max_size.unwrap_or(MAX_BYTES), any_ratio: args.max_size.is_some() };
    let mut progress = context.ui.progress("importing", length);
    let unpacked =
        unpack(file, right.staging()?, limits, &mut |bytes| progress.add(bytes)).map_err(cannot)?;
    drop(progress);
    let (run, events, verdicts) = (unpacked.run.clone(), unpacked.events, unpacked.verdicts);
    let objects = unpacked.manifest.entries.len() - 4;
    let missing = unpacked.manifest.missing.len();
    let name = run.team.as_deref().unwrap_or("no team");
    match unpacked.install(&library, &right, context.clock.now()).map_err(cannot)? {
        ImportOutcome::There { repaired: 0 } => {
            context.ui.eprint_line(&format!("run {} ({name}) already exists", run.run))
        }
        ImportOutcome::There { repaired } => context.ui.eprint_line(&format!(
            "run {} ({name}) already exists; repaired {repaired} missing or damaged objects",
            run.run
        )),
        ImportOutcome::New => {
            context.ui.eprint_line(&format!(
                "imported run {} ({name}): {events} events, {verdicts} verdicts, {objects} objects",
                run.run
            ));
            if missing > 0 {
                context
                    .ui
                    .eprint_line(&format!("{missing} objects were already missing when it was exported"));
            }
            let others = library.runs.iter().filter(|other| other.team.is_some() && other.team == run.team);
            if others.count() > 0 {
                context.ui.eprint_line(&format!(
                    "another run has the team name {name}: refer to this one by its ID"
                ));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
