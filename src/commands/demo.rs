//! `teamkeep demo`: a bundled example run.

use std::path::PathBuf;

use super::output;
use crate::context::Context;
use crate::demo;
use crate::timeline::{Entry, RunCatalog, Summary, merge};
use crate::view::{self, Document, TimelineOptions};
use teamkeep_core::client::settings::command::{quoted, shell_invocation};
use teamkeep_core::config::Config;
use teamkeep_core::error::Result;
use teamkeep_core::policy::Decision;
use teamkeep_core::store::archive::Archive;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Show the example run
  teamkeep demo

  # Keep it, and open its report
  teamkeep demo --keep /tmp/demo && TEAMKEEP_HOME=/tmp/demo teamkeep report --open")]
pub struct Args {
    /// Keep the run in this directory, to try commands on it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let replayed = demo::play(args.keep.as_deref())?;
    let archive = Archive::open(replayed.paths.archive(), &Config::default());
    let catalog = RunCatalog::open(archive, replayed.paths.log());
    let opened = catalog.open_runs(&catalog.runs.iter().collect::<Vec<_>>())?;
    let columns = context.ui.columns();
    let now = replayed.end;
    let program = shell_invocation(&context.env);
    let store = quoted(&replayed.paths.store.to_string_lossy());
    let command = |command: &str| match &args.keep {
        Some(_) => format!("\n$ TEAMKEEP_HOME={store} {program} {command}\n"),
        None => format!("\nteamkeep {command}:\n"),
    };
    let paragraphs = |text: &str| {
        let mut document = Document::default();
        text.lines().for_each(|line| document.paragraph(line));
        document.to_terminal(columns)
    };
    let mut text = paragraphs(&format!(
        "This is a run of Claude Code 2.1.330 with teamkeep's default policy ({} hook calls). Claude Code has \
             since deleted the team's files; teamkeep kept them.\n",
        replayed.lines.len()
    ));
    let timelines: Vec<_> = opened.runs.iter().map(|run| (run, merge(run))).collect();
    let rows: Vec<Summary> = timelines.iter().map(|(run, timeline)| Summary::of(run, timeline)).collect();
    text += &command("list");
    text += &view::teams(&rows, &catalog.ids(), now, columns).to_terminal(columns);
    for (run, timeline) in &timelines {
        text += &command("replay latest");
        let (entries, mut lines) = (timeline.entries.iter().collect::<Vec<_>>(), Vec::new());
        let options = TimelineOptions { columns, ..TimelineOptions::default() };
        view::timeline(run, timeline, &entries, options, &mut lines)?;
        text += &String::from_utf8_lossy(&lines);
        let mut verdicts = timeline.entries.iter().filter_map(Entry::verdict);
        if let Some(block) = verdicts.find(|verdict| verdict.decision == Decision::Block) {
            text += "\nThe lead reads this instead of stopping bob:\n";
            text += &paragraphs(block.reason.trim_end());
        }
    }
    let try_it = match &args.keep {
        Some(_) => format!("To delete this run: rm -r {store}"),
        None => format!("To try the commands on this run: {program} demo --keep DIR"),
    };
    text += "\n";
    text += &paragraphs(&format!(
        "The policy blocked the shutdown of bob, who then finished the task.\n{try_it}\n\
         To record your own teams: {program} install\n"
    ));
    output::page(context, &text)
}
