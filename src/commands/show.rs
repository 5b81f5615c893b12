//! `teamkeep show RUN [--at TIME]`: the members, tasks and messages of a run; with `--diff`, what changed.

use std::process::ExitCode;

use super::read_context;
use super::time_arg::{parse_time, warn_outside_run};
use crate::clock;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::timeline::{RunCatalog, RunData, diff, state};
use crate::view;

/// Arguments of `teamkeep show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Show the state at this time: time since the start of the run (`+1m30s`), `2026-02-03 04:05` (local), RFC 3339,
    /// `2026-02-03`, `today`, or an age (`10m`, `2h`). Default: the last recorded state of each item
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<String>,
    /// Show the changes between two times (same formats as --at, the earlier first). Changes that were undone in between
    /// are in `replay --since --until`
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], allow_hyphen_values = true, conflicts_with = "at")]
    diff: Option<Vec<String>>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep show parser-team --at +1m30s
  teamkeep show latest --diff +1m +2m";

/// Runs it.
///
/// # Errors
/// The run does not exist, a time is invalid, or the store cannot be read.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = read_context::library(context)?;
    let now = context.clock.now();
    let opened = library.open_runs(&[library.find(&args.run)?])?;
    for material in &opened.runs {
        if let Some([from, to]) = args.diff.as_deref() {
            compare(context, args, &library, material, [from, to])?;
            continue;
        }
        let at = args
            .at
            .as_deref()
            .map(|text| parse_time(text, &material.run, now))
            .transpose()?
            .map(clock::stamp);
        if let (Some(given), Some(at)) = (&args.at, &at) {
            warn_outside_run(context, &material.run, &[(given, at)]);
        }
        let state = state(&library.archive, material, at.as_deref());
        if args.json {
            read_context::print_json(context, &state)?;
        } else {
            read_context::page_document(context, &view::state(material, &state))?;
        }
    }
    read_context::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}

/// Prints the changes between two times.
fn compare(
    context: &Context,
    args: &Args,
    library: &RunCatalog,
    material: &RunData,
    moments: [&str; 2],
) -> Result<()> {
    let now = context.clock.now();
    let [from, to] = moments.map(|text| parse_time(text, &material.run, now).map(clock::stamp));
    let (from, to) = (from?, to?);
    if from > to {
        return Err(Error::usage(format!(
            "{} is later than {}",
            clock::moment_of(&from),
            clock::moment_of(&to)
        ))
        .hint(format!("the earlier moment comes first: --diff {} {}", moments[1], moments[0])));
    }
    warn_outside_run(context, &material.run, &[(moments[0], &from), (moments[1], &to)]);
    let [from, to] = [from, to].map(|at| state(&library.archive, material, Some(&at)));
    let diff = diff(&from, &to);
    if args.json {
        return read_context::print_json(context, &diff);
    }
    read_context::page_document(context, &view::diff(material, &diff))
}
