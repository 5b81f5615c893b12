//! `teamkeep import FILE`: adds a run that was exported on another machine.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use super::catalog::{self, catalog};
use super::number;
use crate::bundle::{self, ImportTarget, ImportedRun};
use crate::view::count;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Import a run and show what happened in it
  teamkeep import parser-team.teamkeep.tar.gz && teamkeep log parser-team

  # Import a run that unpacks to more than 4 GiB
  teamkeep import big.teamkeep.tar.gz --max-size '16 GiB'")]
pub struct Args {
    /// File that `teamkeep export` wrote; `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Maximum unpacked size (default: 4 GiB)
    #[arg(long, value_name = "SIZE", value_parser = number::size)]
    max_size: Option<u64>,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let is_stdin = args.file.as_os_str() == "-";
    let shown = if is_stdin { "stdin".to_owned() } else { args.file.display().to_string() };
    let failed = |error: Error| error.within(format!("cannot import {shown}"));
    let print = |line: String| context.ui.eprint_line(&line);
    if is_stdin && io::stdin().is_terminal() {
        return Err(Error::usage("cannot read an export from a terminal").hint("name a file, or use a pipe"));
    }
    context.paths.secure()?;
    let file: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(|error| failed(error.into()))?)
    };
    let exclusive = catalog::archive(context).maintain(context.config.log.lock_patience)?;
    let known = catalog(context)?.runs;
    let progress = context.ui.progress("importing", 0);
    let (paths, config, now) = (&context.paths, &context.config, context.clock.now());
    let target = ImportTarget { right: &exclusive, paths, config, now };
    let ImportedRun { run, events, verdicts, missing } =
        bundle::import(file, &target, args.max_size).map_err(failed)?;
    drop(progress);
    let team = run.team.as_deref().unwrap_or("no team");
    let (events, verdicts) = (count(events, "event"), count(verdicts, "verdict"));
    print(format!("imported run {} ({team}): {events}, {verdicts}", run.run));
    if missing > 0 {
        print(format!("missing in the file: {}", count(missing, "content")));
    }
    if known.iter().any(|other| other.team.is_some() && other.team == run.team) {
        print(format!("another run has the team name {team}: refer to this one by its ID"));
    }
    Ok(())
}
