//! `teamkeep prune`: deletes old runs and unused data; a dry run without `--yes`.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::read_context;
use crate::config;
use crate::context::Context;
use crate::error::Result;
use crate::prune::{
    Bounds, Inventory, Plan, PruneContext, Pruned, Reason, RunState, apply, plan_verified, survey,
};
use crate::ui::escape;
use crate::view::{self, count, size as bytes};

/// Arguments of `teamkeep prune`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Delete runs that ended longer ago than this: `30d`, `12h`
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    older_than: Option<Duration>,
    /// Keep only the newest COUNT runs
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,
    /// Delete the oldest runs until the archive is at most this size: `1 GiB`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Show what would be deleted (the default without --yes)
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Delete
    #[arg(short, long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Show which runs ended more than 90 days ago and what would be deleted
  teamkeep prune --older-than 90d --dry-run

  # Keep the 20 newest runs, and of these as many as fit into 1 GiB
  teamkeep prune --keep 20 --max-size '1 GiB' --yes

Running teams and unreadable runs are never deleted. Without a limit, only unreferenced data
and log segments that expired (`log.keep`, `log.keep-size` in the configuration) are deleted.

Exit codes:
  0   Success, nothing to delete, or a dry run with --dry-run or on a terminal
  1   Failure, or a dry run in a pipe without --dry-run
  64  Usage error";

fn duration(text: &str) -> std::result::Result<Duration, String> {
    config::parse_duration(text)
        .ok_or_else(|| "invalid duration; expected a value such as \"30d\" or \"12h\"".to_owned())
}

fn size(text: &str) -> std::result::Result<u64, String> {
    config::parse_size(text)
        .ok_or_else(|| "invalid size; expected a value such as \"1 GiB\" or \"512 MiB\"".to_owned())
}

/// Runs it.
///
/// # Errors
/// When the store cannot be listed, another process changes it, or the disk refuses.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let (log, limits, now) = (context.paths.log(), &context.config.log, context.clock.now());
    let bounds = Bounds { older_than: args.older_than, keep: args.keep, max_size: args.max_size };
    let archive = read_context::archive(context);
    // A dry run needs no lock.
    let right = if args.yes { Some(archive.maintain(limits.lock_patience)?) } else { None };
    let library = read_context::any_library(context);
    let mut progress = context.ui.progress("looking", 0);
    let mut survey = survey(&library, &log, now, &mut |bytes| progress.add(bytes))?;
    let plan = plan_verified(&mut survey, &archive, &bounds, limits, now, &mut |bytes| progress.add(bytes))?;
    drop(progress);
    if !args.json {
        read_context::print(context, &text(&survey, &plan, &bounds, args.yes))?;
    }
    let pruned = match &right {
        None => None,
        Some(right) => {
            let (grace, patience) = (context.config.archive.longest_look, limits.lock_patience);
            let policy = context.paths.policy();
            let ground = PruneContext { right, log: &log, policy: &policy, grace, patience };
            let mut progress = context.ui.progress("removing", plan.bytes);
            let pruned = apply(&survey, &plan, &ground, &mut |bytes| progress.add(bytes))?;
            drop(progress);
            Some(pruned)
        }
    };
    if args.json {
        read_context::print_json(context, &object(&survey, &plan, pruned.as_ref()))?;
    } else if let Some(pruned) = &pruned {
        let all = [
            count(pruned.runs, "run"),
            count(pruned.contents, "object"),
            count(pruned.segments, "log segment"),
        ];
        read_context::print(context, &format!("removed {} ({})\n", all.join(", "), bytes(pruned.bytes)))?;
    }
    let is_plan = pruned.is_none() && !plan.is_empty();
    if is_plan && !args.json {
        context.ui.eprint_line("Dry run. Re-run with --yes to delete.");
    }
    let problems = pruned.map(|pruned| pruned.problems).unwrap_or_default();
    problems.iter().for_each(|problem| context.ui.warn(problem));
    // A script that omitted --yes must not mistake the dry run for success.
    let forgot = is_plan && !args.dry_run && !context.ui.is_terminal();
    Ok(if problems.is_empty() && !forgot { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The plan, for people.
fn text(survey: &Inventory, plan: &Plan, bounds: &Bounds, yes: bool) -> String {
    let mut text = String::new();
    let name = |place: usize| {
        let run = &survey.runs[place].run;
        let team = escape(run.team.as_deref().unwrap_or("(no team)")).into_owned();
        format!("{} {team}", escape(&run.run))
    };
    for going in &plan.runs {
        let why = match going.reason {
            Reason::Age(age) => match usize::try_from(age.num_days()).unwrap_or(0) {
                0 => format!("ended {} ago", view::span(age.num_milliseconds())),
                days => format!("ended {} ago", count(days, "day")),
            },
            Reason::Count => match bounds.keep.unwrap_or_default() {
                0 => "--keep 0 keeps no ended run".to_owned(),
                1 => "not the newest".to_owned(),
                keep => format!("not among the {keep} newest"),
            },
            Reason::Size => "the archive exceeds --max-size".to_owned(),
        };
        let _ = writeln!(text, "delete {} ({why})", name(going.place));
    }
    for kept in &plan.kept {
        let _ = writeln!(
            text,
            "keep {} ({})",
            name(kept.place),
            stays(&kept.standing, &survey.runs[kept.place].run.run)
        );
    }
    for run in &survey.damaged {
        let _ = writeln!(
            text,
            "keep {} (its data cannot be read; run: teamkeep verify {})",
            escape(run),
            escape(run)
        );
    }
    if let Some(why) = survey.obstacle.as_ref().filter(|_| !plan.runs.is_empty()) {
        let _ = writeln!(text, "keep all objects ({}, and may need them)", escape(why));
    }
    if let Some(run) = survey.missing.as_ref().filter(|_| plan.spared > 0) {
        let (spared, run) = (count(plan.spared, "object"), escape(run));
        let _ = writeln!(
            text,
            "keep {spared} (unreferenced, but run {run} may need them; run: teamkeep verify {run})"
        );
    }
    if plan.is_empty() {
        text.push_str("nothing to delete\n");
    } else if !yes {
        let all = [
            count(plan.runs.len(), "run"),
            format!("{} ({})", count(plan.contents.len(), "object"), bytes(plan.bytes)),
            format!("{} ({})", count(plan.segments.len(), "log segment"), bytes(plan.log_bytes)),
        ];
        let _ = writeln!(text, "would delete {}; {} remain in the archive", all.join(", "), bytes(plan.left));
    }
    let has_log = survey.segments.len() > plan.segments.len();
    if !plan.runs.is_empty() && has_log {
        text.push_str(
            "The log keeps the events of these runs until its own limits ([log] keep, keep-size).\n",
        );
    }
    if let Some(most) = bounds.max_size.filter(|most| plan.left > *most) {
        let _ = writeln!(text, "still more than {}: the rest cannot be deleted", bytes(most));
    }
    text
}

/// Why a run stays against the bounds.
fn stays(standing: &RunState, run: &str) -> String {
    match standing {
        RunState::Over => String::new(),
        RunState::Alive => "running".to_owned(),
        RunState::Unfinished => "its transcripts are not archived yet".to_owned(),
        RunState::Damaged(_) => format!("parts of it cannot be read; run: teamkeep verify {}", escape(run)),
    }
}

/// The plan and what came of it, for programs.
fn object(survey: &Inventory, plan: &Plan, pruned: Option<&Pruned>) -> serde_json::Value {
    let run = |place: usize, why: String| {
        let held = &survey.runs[place].run;
        json!({"run": held.run, "team": held.team, "why": why})
    };
    let reason = |reason: &Reason| match reason {
        Reason::Age(_) => "age",
        Reason::Count => "count",
        Reason::Size => "size",
    };
    let standing = |standing: &RunState| match standing {
        RunState::Over => "over",
        RunState::Alive => "alive",
        RunState::Unfinished => "unfinished",
        RunState::Damaged(_) => "damaged",
    };
    let segments = plan.segments.iter().map(|place| survey.segments[*place].segment.name.to_string());
    json!({
        "v": 1,
        "runs": plan.runs.iter().map(|going| run(going.place, reason(&going.reason).to_owned())).collect::<Vec<_>>(),
        "kept": plan.kept.iter().map(|kept| run(kept.place, standing(&kept.standing).to_owned())).collect::<Vec<_>>(),
        "unreadable": survey.damaged,
        "objects": plan.contents.len(),
        "bytes": plan.bytes,
        "segments": segments.collect::<Vec<_>>(),
        "log_bytes": plan.log_bytes,
        "left": plan.left,
        "removed": pruned.map(|pruned| json!({
            "runs": pruned.runs, "objects": pruned.contents, "segments": pruned.segments, "bytes": pruned.bytes,
        })),
    })
}
