//! `teamkeep brief [RUN]`: the facts about a team for an agent that has lost its context.

use super::catalog::{self, catalog, moment_of_run};
use super::output::{self, JsonOption};
use crate::brief::Brief;
use crate::context::Context;
use crate::status::{Observation, Surroundings};
use crate::view;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::event::LEAD;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep brief parser-team --for bob
  teamkeep brief latest --prompt | claude -p")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Write it for this agent: its tasks, its messages and its blocked calls
    #[arg(long = "for", value_name = "AGENT", default_value = LEAD)]
    reader: String,
    /// Show the facts at this time (same formats as show --at). Default: now, or the end of the run
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<String>,
    /// Maximum size in bytes. Default: unlimited
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1_000..))]
    max_bytes: Option<u32>,
    /// Write a prompt for a new session that continues the work
    #[arg(long, conflicts_with = "json")]
    prompt: bool,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let catalog = catalog(context)?;
    let opened = catalog.open_runs(&[catalog.find(&args.run)?])?;
    for data in &opened.runs {
        let at = moment_of_run(context, args.at.as_deref(), &data.run)?;
        let around =
            Surroundings { archive: &catalog.archive, paths: &context.paths, config: &context.config };
        let observed = Observation::of(data, around, context.clock.now());
        let known = || observed.report.overview.members.iter().map(|member| member.name.as_str());
        if !known().any(|name| name == args.reader) {
            let names: Vec<&str> = known().collect();
            let what = format!("no agent {:?} in run {}", args.reader, data.run.run);
            return Err(Error::usage(what).hint(format!("agents: {}", names.join(", "))));
        }
        let brief = Brief::of(data, &observed, &args.reader, at);
        if args.output.json {
            output::print_json(context, &brief)?;
            continue;
        }
        let text = view::brief(&brief, args.max_bytes.map_or(usize::MAX, |max| max as usize));
        let text = if args.prompt { prompt(&brief, &text) } else { text };
        output::print(context, &text)?;
    }
    catalog::warn_damaged(context, &catalog, &opened);
    Ok(())
}

/// The text with which a new session continues the work of a team that is gone.
fn prompt(brief: &Brief, text: &str) -> String {
    let restore = match brief.open.is_empty() {
        true => String::new(),
        false => format!(
            "To put the unfinished tasks into your own task list, run: teamkeep restore {} --tasks TEAM\n",
            brief.run
        ),
    };
    format!("Continue the work of an earlier agent team.\n\n{text}{restore}")
}
