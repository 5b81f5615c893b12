//! `teamkeep demo`: a bundled example run.

use std::path::PathBuf;
use std::process::ExitCode;

use super::read_context;
use crate::archive::Archive;
use crate::clock::{self, Clock};
use crate::config::Config;
use crate::context::Context;
use crate::demo;
use crate::error::Result;
use crate::policy::Decision;
use crate::settings::command::{quoted, shell_invocation};
use crate::timeline::{Entry, RunCatalog, Summary, merge};
use crate::view::{self, Document, TimelineOptions};

/// Arguments of `teamkeep demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Keep the run in this directory, to try commands on it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  # Show the example run
  teamkeep demo

  # Keep it, and open its report
  teamkeep demo --keep /tmp/demo && TEAMKEEP_HOME=/tmp/demo teamkeep report --open";

/// Runs it. It reads and writes none of the user's files, except below `--keep`.
///
/// # Errors
/// When the scratch directory or that of `--keep` cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let played = demo::play(args.keep.as_deref())?;
    let config = Config::default();
    let archive = Archive::open(played.paths.archive(), &config);
    let library = RunCatalog::open(archive, played.paths.log());
    let runs: Vec<_> = library.runs.iter().collect();
    let opened = library.open_runs(&runs)?;
    let columns = context.ui.columns();
    let now = Clock::new(Some(&clock::stamp(played.end))).now();
    let program = shell_invocation(&context.env);
    let store = quoted(&played.paths.store.to_string_lossy());
    let call = |command: &str| match &args.keep {
        Some(_) => format!("$ TEAMKEEP_HOME={store} {program} {command}"),
        None => format!("teamkeep {command}:"),
    };
    let paragraphs = |text: &str| {
        let mut document = Document::default();
        text.lines().for_each(|line| document.paragraph(line));
        document.to_terminal(columns)
    };
    let mut text = paragraphs(&format!(
        "This is a run of Claude Code 2.1.330 with teamkeep's default policy ({} hook calls). Claude Code has \
             since deleted the team's files; teamkeep kept them.\n",
        played.lines.len()
    ));
    let timelines: Vec<_> = opened.runs.iter().map(|material| (material, merge(material))).collect();
    let rows: Vec<Summary> =
        timelines.iter().map(|(material, timeline)| Summary::of(material, timeline)).collect();
    text.push_str(&format!("\n{}\n", call("list")));
    text.push_str(&view::teams(&rows, &library.ids(), now, columns).to_terminal(columns));
    for (material, timeline) in &timelines {
        text.push_str(&format!("\n{}\n", call("replay latest")));
        let (entries, mut lines) = (timeline.entries.iter().collect::<Vec<_>>(), Vec::new());
        let options = TimelineOptions { columns, ..TimelineOptions::default() };
        view::timeline(material, timeline, &entries, options, &mut lines)?;
        text.push_str(&String::from_utf8_lossy(&lines));
        let mut verdicts = timeline.entries.iter().filter_map(Entry::verdict);
        let block = verdicts.find(|verdict| verdict.decision == Decision::Block);
        if let Some(reason) = block.map(|verdict| verdict.reason.as_str()) {
            text.push_str("\nThe lead reads this instead of stopping bob:\n");
            text.push_str(&paragraphs(reason.trim_end()));
        }
    }
    let try_it = match &args.keep {
        Some(_) => format!("To delete this run: rm -r {store}"),
        None => format!("To try the commands on this run: {program} demo --keep DIR"),
    };
    let end = format!(
        "The policy blocked the shutdown of bob, who then finished the task.\n{try_it}\n\
         To record your own teams: {program} install\n"
    );
    text.push_str(&format!("\n{}", paragraphs(&end)));
    read_context::page(context, &text)?;
    Ok(ExitCode::SUCCESS)
}
