//! `teamkeep teams`: the runs on record.

use std::process::ExitCode;

use super::reading;
use crate::archive::RunRecord;
use crate::context::Context;
use crate::error::Result;
use crate::render;
use crate::timeline::{Summary, digest, merge};

/// Arguments of `teamkeep teams`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Also sessions that had no team but started subagents, and teams that no session took part in
    #[arg(short, long)]
    all: bool,
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep teams
  teamkeep teams --all --json | jq -r '.[] | [.run, .team, .ended_by] | @tsv'";

/// Runs it.
///
/// # Errors
/// When the record cannot be read.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = reading::library(context)?;
    let wanted: Vec<&RunRecord> = library
        .runs
        .iter()
        .filter(|run| args.all || (run.team.is_some() && !library.is_stray(run)))
        .collect();
    let kept: Vec<Option<Summary>> = wanted.iter().map(|run| digest::kept(&library.archive, run)).collect();
    let left: Vec<&RunRecord> =
        wanted.iter().zip(&kept).filter(|(_, kept)| kept.is_none()).map(|(run, _)| *run).collect();
    let opened = library.open_stories(&left)?;
    let mut made = opened.runs.iter().map(|material| {
        let summary = Summary::of(material, &merge(material));
        if opened.problems.count == 0 {
            digest::keep(&library.archive, material, &summary, context.clock.now());
        }
        summary
    });
    let rows: Vec<Summary> = kept.into_iter().filter_map(|kept| kept.or_else(|| made.next())).collect();
    if args.json {
        reading::print_json(context, &rows)?;
    } else if rows.is_empty() {
        let said = match (library.runs.len(), library.events()) {
            (0, _) if !library.damaged.is_empty() || library.unlisted.is_some() => {
                "no run on record can be read".to_owned()
            }
            (0, 0) => reading::NOTHING.to_owned(),
            (0, _) => library.empty().to_string(),
            _ => "no team is on record; `teamkeep teams --all` lists sessions without a team".to_owned(),
        };
        context.ui.say(&said);
    } else {
        reading::print(
            context,
            &render::teams(&rows, &library.ids(), context.clock.now(), context.ui.columns()),
        )?;
    }
    reading::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}
