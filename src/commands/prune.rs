//! `teamkeep prune`: what of the record may go, and with `--yes` goes.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::reading;
use crate::config;
use crate::context::Context;
use crate::error::Result;
use crate::prune::{Bounds, Ground, Plan, Pruned, Reason, Standing, Survey, apply, settle, survey};
use crate::render;
use crate::ui::escape;

/// Arguments of `teamkeep prune`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Runs that have been over for longer: `30d`, `12h`
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    older_than: Option<Duration>,
    /// All but the newest COUNT runs
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,
    /// The oldest runs, until the archive has no more than this
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Show what would go, and change nothing: so it is without --yes as well
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do it
    #[arg(short, long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  # which runs ended more than 90 days ago, and what would go with them
  teamkeep prune --older-than 90d --dry-run

  # keep the 20 newest runs, and of these the newest that fit into 1 GiB
  teamkeep prune --keep 20 --max-size '1 GiB' --yes

What is alive stays, and so does a run of which something cannot be read. Without bounds
there go what no run needs and what `log.keep` and `log.keep-size` in the configuration say.

Exit codes:
  0   done, or nothing is to be removed; or a plan, asked for with --dry-run or shown on a terminal
  1   a failure; or a plan alone, in a pipe without --yes and --dry-run: nothing was removed
  64  a command line that makes no sense";

fn duration(text: &str) -> std::result::Result<Duration, String> {
    config::parse_duration(text).ok_or_else(|| "write it as \"30d\" or \"12h\"".to_owned())
}

fn size(text: &str) -> std::result::Result<u64, String> {
    config::parse_size(text).ok_or_else(|| "write it as \"1 GiB\" or \"512 MiB\"".to_owned())
}

/// Runs it.
///
/// # Errors
/// When the record cannot be listed, another process changes it, or the disk refuses.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let (log, limits, now) = (context.paths.log(), &context.config.log, context.clock.now());
    let bounds = Bounds { older_than: args.older_than, keep: args.keep, max_size: args.max_size };
    let archive = reading::library(context)?.archive;
    // A plan alone changes nothing, and needs no right to.
    let right = if args.yes { Some(archive.maintain(limits.lock_patience)?) } else { None };
    let library = reading::library(context)?;
    let mut progress = context.ui.progress("looking", 0);
    let mut survey = survey(&library, &log, now, &mut |bytes| progress.add(bytes))?;
    let plan = settle(&mut survey, &archive, &bounds, limits, now, &mut |bytes| progress.add(bytes))?;
    drop(progress);
    if !args.json {
        reading::print(context, &text(&survey, &plan, &bounds, args.yes))?;
    }
    let pruned = match &right {
        None => None,
        Some(right) => {
            let (grace, patience) = (context.config.archive.longest_look, limits.lock_patience);
            let policy = context.paths.policy();
            let ground = Ground { right, log: &log, policy: &policy, grace, patience };
            let mut progress = context.ui.progress("removing", plan.bytes);
            let pruned = apply(&survey, &plan, &ground, &mut |bytes| progress.add(bytes))?;
            drop(progress);
            Some(pruned)
        }
    };
    if args.json {
        reading::print_json(context, &object(&survey, &plan, pruned.as_ref()))?;
    } else if let Some(pruned) = &pruned {
        let all =
            [count(pruned.runs, "run"), count(pruned.contents, "object"), count(pruned.segments, "segment")];
        reading::print(context, &format!("removed {} ({})\n", all.join(", "), bytes(pruned.bytes)))?;
    }
    let alone = pruned.is_none() && !plan.is_empty();
    if alone && !args.json {
        context.ui.say("nothing was changed; --yes does it");
    }
    let problems = pruned.map(|pruned| pruned.problems).unwrap_or_default();
    problems.iter().for_each(|problem| context.ui.say(&format!("teamkeep: {problem}")));
    // A script that forgot to say so must not take the plan for its execution.
    let forgot = alone && !args.dry_run && !context.ui.is_terminal();
    Ok(if problems.is_empty() && !forgot { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

fn bytes(bytes: u64) -> String {
    render::size(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// The plan, for people.
fn text(survey: &Survey, plan: &Plan, bounds: &Bounds, yes: bool) -> String {
    let mut text = String::new();
    let name = |place: usize| {
        let run = &survey.runs[place].run;
        let team = escape(run.team.as_deref().unwrap_or("(no team)")).into_owned();
        format!("{} {team}", escape(&run.run))
    };
    for going in &plan.runs {
        let why = match going.reason {
            Reason::Age(age) => match usize::try_from(age.num_days()).unwrap_or(0) {
                0 => format!("over for {}", render::span(age.num_milliseconds())),
                days => format!("over for {}", render::count(days, "day")),
            },
            Reason::Count => format!("the newest {} are kept", bounds.keep.unwrap_or_default()),
            Reason::Size => "the archive is too large".to_owned(),
        };
        let _ = writeln!(text, "- {}: {why}", name(going.place));
    }
    for kept in &plan.kept {
        let _ = writeln!(
            text,
            "  {} stays: {}",
            name(kept.place),
            stays(&kept.standing, &survey.runs[kept.place].run.run)
        );
    }
    for run in &survey.damaged {
        let _ = writeln!(
            text,
            "  {} stays: its record cannot be read (teamkeep verify {})",
            escape(run),
            escape(run)
        );
    }
    if let Some(why) = survey.obstacle.as_ref().filter(|_| !plan.runs.is_empty()) {
        let _ = writeln!(text, "  objects stay: {} and may need them", escape(why));
    }
    if let Some(run) = survey.missing.as_ref().filter(|_| plan.spared > 0) {
        let (spared, run) = (count(plan.spared, "object"), escape(run));
        let _ = writeln!(
            text,
            "  {spared} that no run names may be what run {run} misses, and stay (teamkeep verify {run})"
        );
    }
    if plan.is_empty() {
        text.push_str("nothing is to be removed\n");
    } else if !yes {
        let all = [
            count(plan.runs.len(), "run"),
            format!("{} ({})", count(plan.contents.len(), "object"), bytes(plan.bytes)),
            format!("{} of the log ({})", count(plan.segments.len(), "segment"), bytes(plan.log_bytes)),
        ];
        let _ = writeln!(text, "would remove {}; the archive keeps {}", all.join(", "), bytes(plan.left));
    }
    if let Some(most) = bounds.max_size.filter(|most| plan.left > *most) {
        let _ = writeln!(text, "that leaves more than {}: what else there is may not go", bytes(most));
    }
    text
}

/// Why a run stays against the bounds.
fn stays(standing: &Standing, run: &str) -> String {
    match standing {
        Standing::Over => String::new(),
        Standing::Alive => "it is alive".to_owned(),
        Standing::Unfinished => "its transcripts are not kept yet".to_owned(),
        Standing::Damaged(_) => format!("it cannot be read whole (teamkeep verify {})", escape(run)),
    }
}

/// The plan and what came of it, for programs.
fn object(survey: &Survey, plan: &Plan, pruned: Option<&Pruned>) -> serde_json::Value {
    let run = |place: usize, why: String| {
        let held = &survey.runs[place].run;
        json!({"run": held.run, "team": held.team, "why": why})
    };
    let reason = |reason: &Reason| match reason {
        Reason::Age(_) => "age",
        Reason::Count => "count",
        Reason::Size => "size",
    };
    let standing = |standing: &Standing| match standing {
        Standing::Over => "over",
        Standing::Alive => "alive",
        Standing::Unfinished => "unfinished",
        Standing::Damaged(_) => "damaged",
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
