//! `teamkeep restore`: gives a run's files or its unfinished tasks back, and takes that back again.

mod files;
mod tasks;
mod undo;

use std::path::PathBuf;
use std::process::ExitCode;

use super::reading;
use crate::clock;
use crate::commands::moment::{beside, moment};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::timeline::{Library, Opened};

/// Arguments of `teamkeep restore`.
#[derive(Debug, clap::Args)]
#[command(
    group(clap::ArgGroup::new("what").required(true).args(["to", "tasks", "undo"])),
    after_long_help = EXAMPLES
)]
pub struct Args {
    /// A team's name, `latest`, or the beginning of a run's id
    #[arg(value_name = "RUN", required_unless_present = "undo", conflicts_with = "undo")]
    run: Option<String>,
    /// As of this moment: RFC 3339, `2026-02-03 04:05:06` (UTC), or from the start of the run, such as `+1m30s`.
    /// Without it each thing is given back as it was when it last existed, as `show` shows it
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with = "undo")]
    at: Option<String>,
    /// Write the run's files into this directory, laid out as below ~/.claude
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Put the run's unfinished tasks into the client's task list of this team or session
    #[arg(long, value_name = "TEAM|SESSION")]
    tasks: Option<String>,
    /// Take a restore of tasks back: what is still as it was written goes
    #[arg(long, value_name = "ID")]
    undo: Option<String>,
    /// With --tasks: completed and deleted tasks as well
    #[arg(long, requires = "tasks")]
    all: bool,
    /// With --tasks: leave owners, and tasks in progress, as they were
    #[arg(long, requires = "tasks")]
    keep_owners: bool,
    /// With --tasks: although a client that runs holds the list. With --to: into a directory that is not empty,
    /// over nothing that is there
    #[arg(long, conflicts_with = "undo")]
    force: bool,
    /// Show the plan and write nothing
    #[arg(long)]
    dry_run: bool,
    /// With --tasks: write. Without it there is only the plan
    #[arg(long, short)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  # the unfinished tasks of the last run of a team, for a session that begins with them
  id=$(uuidgen)
  teamkeep restore parser-team --tasks $id --yes
  claude --session-id $id

  # the files of a run as they were a minute and a half after its start
  teamkeep restore latest --at +1m30s --to ./then

Exit codes:
  0   done; or a plan, asked for with --dry-run or shown on a terminal
  1   a failure; or a plan alone, in a pipe without --yes and --dry-run: nothing was written
  64  a command line that makes no sense";

/// Runs it.
///
/// # Errors
/// When there is no such run, TIME is none, the place is not safe or not free, or the disk refuses.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if let Some(id) = &args.undo {
        return undo::run(context, args, id);
    }
    let library = reading::library(context)?;
    let name = args.run.as_deref().unwrap_or_default();
    let run = library.find(name)?;
    if run.veiled {
        return Err(Error::new(format!("cannot restore run {}: its texts were not recorded", run.run))
            .hint("`privacy.record` was \"metadata\" then; `teamkeep show` tells what is known"));
    }
    let opened = library.open_runs(&[run])?;
    match (&args.to, &args.tasks) {
        (Some(directory), _) => files::run(context, args, &library, &opened, directory),
        (None, Some(named)) => tasks::run(context, args, &library, &opened, named),
        (None, None) => Err(Error::usage("restore what? --to DIR, --tasks TEAM or --undo ID")),
    }
}

/// The one run that was opened, and the moment that is meant; says when that is not in the run.
fn meant<'a>(
    context: &Context,
    library: &'a Library,
    opened: &'a Opened,
    args: &Args,
) -> Result<(&'a crate::archive::Archive, &'a crate::timeline::Material, Option<String>)> {
    let material = opened.runs.first().ok_or_else(|| library.empty())?;
    let at = args
        .at
        .as_deref()
        .map(|text| moment(text, &material.run, context.clock.now()))
        .transpose()?
        .map(clock::stamp);
    if let (Some(given), Some(at)) = (&args.at, &at) {
        beside(context, &material.run, &[(given, at)]);
    }
    Ok((&library.archive, material, at))
}
