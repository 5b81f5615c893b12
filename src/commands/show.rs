//! `teamkeep show RUN [--at TIME]`: the members, tasks and messages of a run; with `--diff`, what changed.

use super::catalog::{moment_of_run, time_of_run, warn_outside_run, with_run};
use super::output::JsonOption;
use crate::view;
use teamkeep_history::timeline::{DetailLevel, RunCatalog, RunData, diff, state};
use teamkeep_model::time;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep show parser-team --at +1m30s
  teamkeep show latest --diff +1m +2m")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Show the state at this time: `+1m30s` after the start, `2h` ago, `17:53`, `2026-02-03 04:05`. Default: the last
    /// recorded state of each item
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<String>,
    /// Show the changes between two times , the earlier first. Changes that were undone in between are in
    /// `log --since --until`
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], allow_hyphen_values = true, conflicts_with = "at")]
    diff: Option<Vec<String>>,
    /// Each member, task and message, however many there are
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    with_run(context, &args.run, DetailLevel::Whole, |catalog, run| {
        if let Some([from, to]) = args.diff.as_deref() {
            return compare(context, args, catalog, run, [from, to]);
        }
        let at = moment_of_run(context, args.at.as_deref(), &run.run)?;
        let state = state(&catalog.archive, run, at);
        args.output.page(context, &state, || view::state(run, &state, args.full))
    })
}

/// Prints the changes between two times.
fn compare(
    context: &Context,
    args: &Args,
    catalog: &RunCatalog,
    run: &RunData,
    times: [&str; 2],
) -> Result<()> {
    let [from, to] =
        times.map(|text| time_of_run(context, Some(text), &run.run).map(|at| at.unwrap_or_default()));
    let (from, to) = (from?, to?);
    if from > to {
        let what = format!("{} is later than {}", time::moment(from), time::moment(to));
        return Err(Error::usage(what)
            .hint(format!("the earlier moment comes first: --diff {} {}", times[1], times[0])));
    }
    warn_outside_run(context, &run.run, &[(times[0], from), (times[1], to)]);
    let [from, to] = [from, to].map(|at| state(&catalog.archive, run, Some(at)));
    let diff = diff(&from, &to);
    args.output.page(context, &diff, || view::diff(run, &diff))
}
