//! `teamkeep import FILE`: a run that was exported elsewhere, on record here.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::reading;
use crate::bundle::{Installed, Limits, unpack};
use crate::config;
use crate::context::Context;
use crate::error::{Error, Result};

/// Arguments of `teamkeep import`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// What `teamkeep export` wrote; `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The most that it may unpack to, however small it is; without it 4 GiB, and 200 times its own size
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
}

/// What it may unpack to where nobody says how much.
const LARGEST: u64 = 4 << 30;

const EXAMPLES: &str = "\
Examples:
  # a run that was exported on another machine, and its story
  teamkeep import parser-team.teamkeep.tar.gz && teamkeep replay parser-team

  # one that unpacks to more than 4 GiB
  teamkeep import big.teamkeep.tar.gz --max-size '16 GiB'";

fn size(text: &str) -> std::result::Result<u64, String> {
    config::parse_size(text).ok_or_else(|| "write it as \"4 GiB\" or \"512 MiB\"".to_owned())
}

/// The file, and how long it is where that is known.
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
/// When the file is no sound export, another record of the same run is here, or the disk refuses. Nothing is to be
/// seen of it then.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let cannot = |error: Error| Error {
        cause: Some(error.to_string()),
        what: format!("cannot import {}", args.file.display()),
        ..error
    };
    if args.file.as_os_str() == "-" && io::stdin().is_terminal() {
        return Err(
            Error::usage("an export is no text: stdin is a terminal").hint("name a file, or pipe one in")
        );
    }
    context.paths.secure()?;
    let (file, length) = open(&args.file).map_err(|error| cannot(error.into()))?;
    let archive = reading::library(context)?.archive;
    let right = archive.maintain(context.config.log.lock_patience)?;
    // Listed under the lock: two imports of one run are one after the other.
    let library = reading::library(context)?;
    let limits = Limits { largest: args.max_size.unwrap_or(LARGEST), any_ratio: args.max_size.is_some() };
    let mut progress = context.ui.progress("importing", length);
    let unpacked =
        unpack(file, right.staging()?, limits, &mut |bytes| progress.add(bytes)).map_err(cannot)?;
    drop(progress);
    let (run, events) = (unpacked.run.clone(), unpacked.events);
    let objects = unpacked.manifest.entries.len() - 4;
    let missing = unpacked.manifest.missing.len();
    let name = run.team.as_deref().unwrap_or("a session without a team");
    match unpacked.install(&library, &right, context.clock.now()).map_err(cannot)? {
        Installed::There { mended: 0 } => context.ui.say(&format!("run {} ({name}) is on record already", run.run)),
        Installed::There { mended } => context.ui.say(&format!(
            "run {} ({name}) is on record already; {mended} of its objects were lost or damaged, and are whole again",
            run.run
        )),
        Installed::New => {
            context.ui.say(&format!("imported run {} ({name}): {events} events, {objects} objects", run.run));
            if missing > 0 {
                context.ui.say(&format!("{missing} object(s) were lost before it was exported"));
            }
            let others = library.runs.iter().filter(|other| other.team.is_some() && other.team == run.team);
            if others.count() > 0 {
                context.ui.say(&format!("another run is called {name}, too: name this one by its id"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
