//! `teamkeep demo`: a bundled example run.

use std::path::PathBuf;

use super::output;
use crate::context::Context;
use crate::demo::{self, check::CheckOutcome};
use crate::report::RunSummary;
use crate::settings::plan::count;
use crate::timeline::{Entry, RunCatalog, RunData, Summary, Timeline, merge};
use crate::view::{self, Document, TimelineOptions};
use teamkeep_core::client::settings::command::{HookProgram, quoted, shell_invocation};
use teamkeep_core::config::Config;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::policy::Decision;
use teamkeep_core::store::archive::Archive;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Show the example run
  teamkeep demo

  # Check that the hook program records and blocks
  teamkeep demo --check

  # Keep it, and open its report
  teamkeep demo --keep /tmp/demo && TEAMKEEP_HOME=/tmp/demo teamkeep report --open")]
pub struct Args {
    /// Keep the run in this directory, to try commands on it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Play the run through the hook program in a scratch store, and print what it recorded and blocked
    #[arg(long, conflicts_with = "keep")]
    check: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    if args.check {
        return check(context);
    }
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
    let row = |(run, timeline): &(&RunData, Timeline)| RunSummary::of(run, timeline, &Config::default(), now);
    let rows: Vec<RunSummary> = timelines.iter().map(row).collect();
    text += &command("list");
    text += &view::runs(&rows, &catalog.ids(), rows.len(), now, columns).to_terminal(columns);
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

/// Checks the hook program with the bundled run, and prints one line each for what it recorded, what it blocked, and its time.
fn check(context: &Context) -> Result<()> {
    let program = HookProgram::running(&context.env)?;
    let CheckOutcome { replayed, blocks, median } = demo::check::play(&program)?;
    let archive = Archive::open(replayed.paths.archive(), &Config::default());
    let catalog = RunCatalog::open(archive, replayed.paths.log());
    let opened = catalog.open_runs(&catalog.runs.iter().collect::<Vec<_>>())?;
    let (mut agents, mut tasks, mut messages, mut blocked) = (0, 0, 0, Vec::new());
    for run in &opened.runs {
        let timeline = merge(run);
        let summary = Summary::of(run, &timeline);
        agents += summary.members.len();
        tasks += summary.tasks;
        messages += summary.messages;
        let verdicts = timeline.entries.iter().filter_map(Entry::verdict);
        blocked.extend(verdicts.filter(|verdict| verdict.decision == Decision::Block).cloned());
    }
    let Some(first) = blocked.first().filter(|_| blocks > 0) else {
        let what = format!("{} did not block the shutdown of an agent with unfinished work", program.call());
        return Err(Error::new(what).hint("reinstall teamkeep, then: teamkeep doctor"));
    };
    // Without the advice to the agent.
    let reason = first.reason.strip_prefix("Blocked: ").unwrap_or(&first.reason);
    let reason = reason.split_once(". ").map_or(reason, |(sentence, _)| sentence).trim_end();
    let text = format!(
        "recorded: {}, {}, {}, {}\nblocked by {}: {}\nmedian time of a hook call: {:.1} ms\n",
        count(replayed.lines.len(), "event"),
        count(agents, "agent"),
        count(tasks, "task"),
        count(messages, "message"),
        first.gate,
        crate::ui::escape(reason),
        median.as_secs_f64() * 1e3,
    );
    output::print(context, &text)
}
