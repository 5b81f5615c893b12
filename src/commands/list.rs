//! `teamkeep list`: the recorded runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::read_context;
use super::time_arg::time;
use crate::archive::RunRecord;
use crate::clock::{self, Time};
use crate::context::Context;
use crate::error::Result;
use crate::timeline::{RunCatalog, Summary, merge, summary_cache};
use crate::view;

/// Arguments of `teamkeep list`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Include sessions without a team that started subagents, and teams that no session joined
    #[arg(short, long)]
    all: bool,
    /// Only runs of this project: a directory, or its name
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Only runs that ended after this time, and running teams: `2026-02-03 04:05` (local), RFC 3339, `2026-02-03`,
    /// `today`, or an age (`2h`, `1w`)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only runs that started before this time (same formats as --since)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// Only the newest COUNT runs
    #[arg(short = 'n', long = "limit", value_name = "COUNT")]
    count: Option<usize>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  # The runs of the current project in the last week
  teamkeep list --project . --since 1w

  # The newest run with the reason for its end
  teamkeep list -n 1 --json | jq -r '.[] | [.run, .team, .ended_by] | @tsv'";

/// Runs it.
///
/// # Errors
/// When the store cannot be read.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = read_context::library(context)?;
    if library.runs.is_empty() && !library.damaged.is_empty() {
        read_context::damaged(&library).for_each(|problem| context.ui.warn(problem));
        return Err(library.empty());
    }
    let now = context.clock.now();
    let read = |text: &Option<String>| text.as_deref().map(|text| time(text, now)).transpose();
    let (since, until) = (read(&args.since)?, read(&args.until)?);
    let wanted: Vec<&RunRecord> =
        library.runs.iter().filter(|run| args.wants(run, &library, since, until)).collect();
    let cached: Vec<Option<Summary>> =
        wanted.iter().map(|run| summary_cache::cached(&library.archive, run)).collect();
    let uncached: Vec<&RunRecord> =
        wanted.iter().zip(&cached).filter(|(_, cached)| cached.is_none()).map(|(run, _)| *run).collect();
    let opened = library.open_stories(&uncached)?;
    let mut computed = opened.runs.iter().map(|material| {
        let summary = Summary::of(material, &merge(material));
        if opened.problems.count == 0 {
            summary_cache::keep(&library.archive, material, &summary, now);
        }
        summary
    });
    let rows = cached.into_iter().filter_map(|cached| cached.or_else(|| computed.next()));
    let project = args.project.as_deref();
    let mut rows: Vec<Summary> =
        rows.filter(|row| project.is_none_or(|project| is_in(row.project.as_deref(), project))).collect();
    rows.drain(..rows.len().saturating_sub(args.count.unwrap_or(usize::MAX)));
    if args.json {
        read_context::print_json(context, &rows)?;
    } else if rows.is_empty() {
        context.ui.eprint_line(&args.nothing(&library));
        let is_new = library.runs.is_empty();
        library.empty().hints.iter().filter(|_| is_new).for_each(|hint| context.ui.hint(hint));
    } else {
        read_context::print_document(
            context,
            &view::teams(&rows, &library.ids(), now, context.ui.columns()),
        )?;
    }
    read_context::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn wants(&self, run: &RunRecord, library: &RunCatalog, since: Option<Time>, until: Option<Time>) -> bool {
        let is_listed = self.all || (run.team.is_some() && !library.is_stray(run));
        let is_after = |since: Time| {
            let ended = run.ended_at.as_deref().and_then(clock::parse);
            ended.is_none_or(|ended| ended >= since)
        };
        let is_before = |until: Time| clock::parse(&run.started_at).is_none_or(|started| started <= until);
        is_listed && since.is_none_or(is_after) && until.is_none_or(is_before)
    }

    /// Why nothing is listed.
    fn nothing(&self, library: &RunCatalog) -> String {
        if library.runs.is_empty() {
            return library.empty().to_string();
        }
        let is_filtered = self.project.is_some() || self.since.is_some() || self.until.is_some();
        match is_filtered {
            true => "No runs match these filters.",
            false => "no team runs recorded; list sessions without a team: teamkeep list --all",
        }
        .to_owned()
    }
}

/// Whether a run's project is the wanted directory, is inside of it, or has its name.
fn is_in(project: Option<&str>, wanted: &Path) -> bool {
    let Some(project) = project.map(Path::new) else { return false };
    let is_name = wanted.components().count() == 1 && project.file_name() == Some(wanted.as_os_str());
    let absolute = wanted.canonicalize().or_else(|_| std::path::absolute(wanted));
    is_name || absolute.is_ok_and(|wanted| project.starts_with(wanted))
}
