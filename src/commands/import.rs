//! `teamkeep import FILE`: adds a run that was exported on another machine.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use super::catalog::{self, catalog};
use crate::bundle::{ImportOutcome, unpack};
use crate::context::Context;
use teamkeep_core::config;
use teamkeep_core::error::{Error, Result};

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Import a run and show what happened in it
  teamkeep import parser-team.teamkeep.tar.gz && teamkeep replay parser-team

  # Import a run that unpacks to more than 4 GiB
  teamkeep import big.teamkeep.tar.gz --max-size '16 GiB'")]
pub struct Args {
    /// File that `teamkeep export` wrote; `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Maximum unpacked size (default: 4 GiB and 200 times the size of FILE)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
}

fn size(text: &str) -> std::result::Result<u64, String> {
    config::parse_size(text)
        .ok_or_else(|| "invalid size; expected a value such as \"4 GiB\" or \"512 MiB\"".to_owned())
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let failed = |error: Error| error.within(format!("cannot import {}", args.file.display()));
    let print = |line: String| context.ui.eprint_line(&line);
    let is_stdin = args.file.as_os_str() == "-";
    if is_stdin && io::stdin().is_terminal() {
        return Err(Error::usage("cannot read an export from a terminal").hint("name a file, or use a pipe"));
    }
    context.paths.secure()?;
    let (file, length): (Box<dyn Read>, u64) = if is_stdin {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(&args.file).map_err(|error| failed(error.into()))?;
        let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        (Box::new(file), length)
    };
    let archive = catalog::archive(context);
    let exclusive = archive.maintain(context.config.log.lock_patience)?;
    // Listed under the lock: two imports of one run are one after the other.
    let catalog = catalog(context)?;
    let mut progress = context.ui.progress("importing", length);
    let unpacked = unpack(file, exclusive.staging()?, args.max_size, &mut |bytes| progress.add(bytes))
        .map_err(failed)?;
    drop(progress);
    let (run, events, verdicts) = (unpacked.run.clone(), unpacked.events, unpacked.verdicts);
    let objects = unpacked.manifest.entries.len() - 4;
    let missing = unpacked.manifest.missing.len();
    let team = run.team.as_deref().unwrap_or("no team");
    let name = format!("run {} ({team})", run.run);
    match unpacked.install(&catalog, &exclusive, context.clock.now()).map_err(failed)? {
        ImportOutcome::Existing { repaired: 0 } => print(format!("{name} already exists")),
        ImportOutcome::Existing { repaired } => {
            print(format!("{name} already exists; repaired {repaired} missing or damaged objects"))
        }
        ImportOutcome::New => {
            print(format!("imported {name}: {events} events, {verdicts} verdicts, {objects} objects"));
            if missing > 0 {
                print(format!("{missing} objects were already missing when it was exported"));
            }
            if catalog.runs.iter().any(|other| other.team.is_some() && other.team == run.team) {
                print(format!("another run has the team name {team}: refer to this one by its ID"));
            }
        }
    }
    Ok(())
}
