//! `teamkeep restore`: restores a run's files or re-queues its unfinished tasks, and undoes that.

mod files;
mod tasks;
mod undo;

use std::path::PathBuf;
use std::process::ExitCode;

use super::read_context;
use crate::clock;
use crate::commands::time_arg::{parse_time, warn_outside_run};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::timeline::{OpenedRun, RunCatalog};

/// Arguments of `teamkeep restore`.
#[derive(Debug, clap::Args)]
#[command(
    group(clap::ArgGroup::new("what").required(true).args(["to", "tasks", "undo"])),
    after_long_help = EXAMPLES
)]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", required_unless_present = "undo", conflicts_with = "undo")]
    run: Option<String>,
    /// Restore the state as of this time: time since the start of the run (`+1m30s`), `2026-02-03 04:05` (local),
    /// RFC 3339, `2026-02-03`, `today`, or an age (`10m`, `2h`). Default: the last recorded state of each item
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with = "undo")]
    at: Option<String>,
    /// Write the run's files to this directory, laid out as in ~/.claude
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Add the run's unfinished tasks to the Claude Code task list of this team or session
    #[arg(long, value_name = "TEAM|SESSION")]
    tasks: Option<String>,
    /// Undo a task restore; tasks changed since then are kept
    #[arg(long, value_name = "ID")]
    undo: Option<String>,
    /// With --tasks: include completed and deleted tasks
    #[arg(long, requires = "tasks")]
    all: bool,
    /// With --tasks: keep owners and in-progress status
    #[arg(long, requires = "tasks")]
    keep_owners: bool,
    /// With --tasks: write even if a running session is using the list. With --to: write to a directory that is not
    /// empty; existing files are kept
    #[arg(long, conflicts_with = "undo")]
    force: bool,
    /// Print the plan without writing anything
    #[arg(long)]
    dry_run: bool,
    /// With --tasks: write the tasks (default: dry run)
    #[arg(long, short)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Start a session with the unfinished tasks of a team's last run
  id=$(uuidgen)
  teamkeep restore parser-team --tasks $id --yes
  claude --session-id $id

  # Restore the files as of 1m30s after the start of the last run
  teamkeep restore latest --at +1m30s --to ./then

Exit codes:
  0   Success, or a dry run with --dry-run or on a terminal
  1   Failure, or a dry run in a pipe without --dry-run
  64  Usage error";

/// Runs it.
///
/// # Errors
/// When there is no such run, TIME is invalid, the target is not safe or not empty, or a file cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if let Some(id) = &args.undo {
        return undo::run(context, args, id);
    }
    let library = read_context::library(context)?;
    let name = args.run.as_deref().unwrap_or_default();
    let run = library.find(name)?;
    if run.metadata_only {
        return Err(Error::new(format!("cannot restore run {}: its texts were not recorded", run.run))
            .hint("it was recorded in metadata-only mode; see what is known: teamkeep show"));
    }
    let opened = library.open_runs(&[run])?;
    match (&args.to, &args.tasks) {
        (Some(directory), _) => {
            // Without a slash at the end, which would follow a symlink.
            let directory: PathBuf = directory.components().collect();
            files::run(context, args, &library, &opened, &directory)
        }
        (None, Some(named)) => tasks::run(context, args, &library, &opened, named),
        (None, None) => {
            Err(Error::usage("missing what to restore; expected --to DIR, --tasks TEAM or --undo ID"))
        }
    }
}

/// The opened run and the time to restore; warns when the time is outside of the run.
fn target<'a>(
    context: &Context,
    library: &'a RunCatalog,
    opened: &'a OpenedRun,
    args: &Args,
) -> Result<(&'a crate::archive::Archive, &'a crate::timeline::RunData, Option<String>)> {
    let data = opened.runs.first().ok_or_else(|| library.empty())?;
    let at = args
        .at
        .as_deref()
        .map(|text| parse_time(text, &data.run, context.clock.now()))
        .transpose()?
        .map(clock::stamp);
    if let (Some(given), Some(at)) = (&args.at, &at) {
        warn_outside_run(context, &data.run, &[(given, at)]);
    }
    Ok((&library.archive, data, at))
}
