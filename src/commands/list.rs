//! `teamkeep list`: the recorded runs, the newest first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::catalog::{self, catalog};
use super::{number, output};
use crate::view;
use teamkeep_history::report::RunSummary;
use teamkeep_history::timeline::{RunCatalog, Summary, merge};
use teamkeep_model::paths;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;
use teamkeep_terminal::{Context, parse_time};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Marks:
  ●  running
  ✓  ended, all tasks done
  ○  ended with open tasks
  ✗  crashed, or work was lost

Examples:
  # The runs of the current project in the last week
  teamkeep list --project . --since 1w

  # The title, the outcome and the cost of the newest run
  teamkeep list -n 1 --json | jq -r '.[] | [.title, .outcome, .cost] | @tsv'")]
pub struct Args {
    /// Include sessions without a team that started subagents, and teams that no session joined
    #[arg(short, long)]
    all: bool,
    /// Only runs of this project: a directory, or its name
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Only runs that ended after this time, and running teams: `2h` ago, `17:53`, `yesterday`, `2026-02-03 04:05`
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only runs that started before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// Only the newest COUNT runs
    #[arg(short = 'n', long = "limit", value_name = "COUNT", value_parser = number::count)]
    count: Option<usize>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let catalog = catalog(context)?;
    if catalog.runs.is_empty() && !catalog.damaged.is_empty() {
        catalog::damaged(&catalog).for_each(|problem| context.ui.warn(problem));
        return Err(catalog.empty());
    }
    let now = context.clock.now();
    let parse = |text: &Option<String>| text.as_deref().map(|text| parse_time(text, None, now)).transpose();
    let (since, until) = (parse(&args.since)?, parse(&args.until)?);
    let mut selected: Vec<&RunRecord> =
        catalog.runs.iter().rev().filter(|run| args.selects(run, &catalog, since, until)).collect();
    let (most, mut total) = (args.count.unwrap_or(usize::MAX), selected.len());
    // The project of a run is in its summary.
    if args.project.is_none() {
        selected.truncate(most);
    }
    let config = &context.config;
    let cached: Vec<Option<RunSummary>> =
        selected.iter().map(|run| RunSummary::cached(&catalog.archive, run, config)).collect();
    let uncached: Vec<&RunRecord> =
        selected.iter().zip(&cached).filter(|(_, cached)| cached.is_none()).map(|(run, _)| *run).collect();
    let progress = context.ui.progress("reading new runs", 0);
    let opened = catalog.open_timelines(&uncached)?;
    let mut computed = opened.runs.iter().map(|run| {
        let summary = RunSummary::of(run, &merge(run), config, now);
        if opened.problems.count == 0 {
            summary.store(&catalog.archive, run, config, now);
        }
        summary
    });
    let rows = cached.into_iter().filter_map(|cached| cached.or_else(|| computed.next()));
    let project = args.project.as_deref();
    let rows: Vec<RunSummary> = rows.collect();
    drop(progress);
    let projects: BTreeSet<String> = rows.iter().filter_map(|row| project_name(&row.counts)).collect();
    let is_wanted =
        |row: &RunSummary| project.is_none_or(|project| is_in(row.counts.project.as_deref(), project));
    let mut rows: Vec<RunSummary> = rows.into_iter().filter(is_wanted).collect();
    if project.is_some() {
        total = rows.len();
        rows.truncate(most);
    }
    if args.json {
        output::print_json(context, &rows)?;
    } else if !rows.is_empty() {
        let document = view::runs(&rows, &catalog.ids(), total, now, context.ui.columns());
        output::print_document(context, &document)?;
    } else if catalog.runs.is_empty() {
        let empty = catalog.empty();
        context.ui.eprint_line(&empty.to_string());
        empty.hints.iter().for_each(|hint| context.ui.hint(hint));
    } else if args.project.is_some() || args.since.is_some() || args.until.is_some() {
        context.ui.eprint_line("no runs match these filters");
        if let Some(name) = project.and_then(Path::to_str).filter(|name| !projects.contains(*name)) {
            let known: Vec<&str> = projects.iter().map(String::as_str).collect();
            let error = Error::not_found(name).suggest("project", name, &known);
            error.hints.iter().for_each(|hint| context.ui.hint(hint));
        }
    } else {
        context.ui.eprint_line("no team runs recorded; list sessions without a team: teamkeep list --all");
    }
    catalog::warn_damaged(context, &catalog, &opened);
    Ok(())
}

impl Args {
    fn selects(
        &self,
        run: &RunRecord,
        catalog: &RunCatalog,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> bool {
        let is_listed = self.all || (run.team.is_some() && !catalog.is_stray(run));
        let ended = run.ended_at;
        let started = Some(run.started_at);
        is_listed
            && since.is_none_or(|since| ended.is_none_or(|ended| ended >= since))
            && until.is_none_or(|until| started.is_none_or(|started| started <= until))
    }
}

/// The name of the directory of a project.
fn project_name(row: &Summary) -> Option<String> {
    Some(paths::name(row.project.as_deref()?).to_owned()).filter(|name| !name.is_empty())
}

/// Whether a run's project is the given directory, is inside of it, or has its name.
fn is_in(project: Option<&str>, directory: &Path) -> bool {
    let Some(project) = project else { return false };
    let is_name = directory.components().count() == 1 && directory.to_str() == Some(paths::name(project));
    let absolute = fs::canonicalize(directory).or_else(|_| std::path::absolute(directory));
    is_name || absolute.is_ok_and(|directory| Path::new(project).starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_found_by_its_name_and_by_a_directory_above_it() {
        for project in ["/srv/people/nina/repo", r"C:\Users\nina\repo"] {
            assert!(is_in(Some(project), Path::new("repo")), "{project}");
            assert!(!is_in(Some(project), Path::new("nina")), "{project}");
        }
        let here = std::env::current_dir().unwrap();
        assert!(is_in(here.join("a").to_str(), Path::new(".")));
        assert!(!is_in(None, Path::new("repo")));
    }
}
