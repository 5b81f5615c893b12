//! `teamkeep prune`: deletes old runs; a dry run without `--yes`.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::output::{self, JsonOption};
use super::{catalog, number};
use crate::prune::{
    Bounds, Candidate, Obstacle, PrunePlan, Pruned, Reason, apply, candidates, obstacle, plan,
};
use crate::view::{self, Document, count};
use teamkeep_config as config;
use teamkeep_model::time;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::shipping::{RunDelivery, Shipping, UnshippedSegments};
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Show which runs ended more than 90 days ago and what would be deleted
  teamkeep prune --older-than 90d --dry-run

  # Keep the 20 newest runs, and of these as many as fit into 1 GiB
  teamkeep prune --keep 20 --max-size '1 GiB' --yes

Running teams and unreadable runs are never deleted. Without a limit, only the logs of sessions
without a run that expired (`log.keep`, `log.keep-size` in the configuration) are deleted.

Exit codes:
  0   Success, nothing to delete, or a dry run with --dry-run or on a terminal
  1   Failure, or a dry run in a pipe without --dry-run
  64  Usage error")]
pub struct Args {
    /// Delete runs that ended longer ago than this: `30d`, `12h`
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    older_than: Option<Duration>,
    /// Keep only the newest COUNT runs
    #[arg(long, value_name = "COUNT", value_parser = number::kept)]
    keep: Option<usize>,
    /// Delete the oldest runs until the archive is at most this size: `1 GiB`
    #[arg(long, value_name = "SIZE", value_parser = number::size)]
    max_size: Option<u64>,
    /// Show what would be deleted (the default without --yes)
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Delete
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    output: JsonOption,
}

fn duration(text: &str) -> std::result::Result<Duration, String> {
    config::parse_duration(text)
        .ok_or_else(|| "invalid duration; expected a value such as \"30d\" or \"12h\"".to_owned())
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let (limits, now) = (&context.config.log, context.clock.now());
    let bounds = Bounds { older_than: args.older_than, keep: args.keep, max_size: args.max_size };
    context.warn_missing_store();
    let archive = catalog::archive(context);
    // A dry run needs no lock.
    let exclusive = if args.yes { Some(archive.maintain(limits.lock_patience)?) } else { None };
    let catalog = catalog::lenient_catalog(context);
    let progress = context.ui.progress("looking", 0);
    let mut plan = plan(candidates(&catalog)?, &bounds, now, |run| obstacle(&catalog, run))?;
    let unshipped = UnshippedSegments::find(&Shipping::of(&context.paths), &context.config.ship)?;
    plan.add_sessions(&catalog, &bounds, limits, &unshipped)?;
    drop(progress);
    let unreadable = &catalog.damaged.clone();
    // It keeps files of runs open, and Windows moves no directory with an open file.
    drop(catalog);
    if !args.output.json {
        let mut document = document(&plan, unreadable, args);
        unshipped_runs(context, &plan)?.into_iter().for_each(|line| document.paragraph(line));
        output::print_document(context, &document)?;
    }
    let mut pruned = None;
    if let Some(right) = &exclusive {
        let _progress = context.ui.progress("deleting", 0);
        let done = apply(&plan, right, limits.lock_patience)?;
        unshipped.note_removed(&Shipping::of(&context.paths), &done.segments, now)?;
        pruned = Some(done);
    }
    let is_plan = pruned.is_none() && !plan.is_empty();
    if args.output.json {
        output::print_json(context, &object(&plan, unreadable, pruned.as_ref()))?;
    } else if let Some(Pruned { runs, segments, bytes, .. }) = &pruned
        && !plan.is_empty()
    {
        let sessions = match segments.len() {
            0 => String::new(),
            sessions => format!(", {}", count(sessions, "session log")),
        };
        let runs = count(*runs, "run");
        output::print(context, &format!("deleted {runs}{sessions} ({})\n", view::size(*bytes)))?;
    }
    if is_plan {
        output::propose_again(context, Some("--yes"));
        if args.dry_run || context.ui.is_terminal() {
            return Ok(ExitCode::SUCCESS);
        }
        // A script that forgot `--yes` must not mistake the dry run for success.
        let error = Error::new("dry run only: nothing was deleted");
        return Err(error.hint("pass --yes to do it, or --dry-run to exit with 0"));
    }
    let problems = pruned.map(|pruned| pruned.problems).unwrap_or_default();
    problems.iter().for_each(|problem| context.ui.warn(problem));
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn document(plan: &PrunePlan, unreadable: &[String], args: &Args) -> Document {
    let mut document = Document::default();
    let mut add = |line: String| document.paragraph(line);
    let name = |run: &RunRecord| format!("{} {}", run.run, run.team.as_deref().unwrap_or("(no team)"));
    for (candidate, reason) in &plan.runs {
        let why = match reason {
            Reason::Age(age) => format!("ended {} ago", time::duration(age.num_milliseconds())),
            Reason::Count => match args.keep.unwrap_or_default() {
                0 => "--keep 0 keeps no ended run".to_owned(),
                1 => "not the newest".to_owned(),
                keep => format!("not among the {keep} newest"),
            },
            Reason::Size => "the archive exceeds --max-size".to_owned(),
        };
        let would = if args.yes { "" } else { "would " };
        add(format!("{would}delete {} ({why})", name(&candidate.run)));
    }
    for (run, obstacle) in &plan.kept {
        let why = match obstacle {
            Obstacle::Alive => "running".to_owned(),
            Obstacle::Unfinished => "its transcripts are not archived yet".to_owned(),
            Obstacle::Damaged => format!("parts of it cannot be read; run: teamkeep verify {}", run.run),
        };
        add(format!("keep {} ({why})", name(run)));
    }
    for run in unreadable {
        add(format!("keep {run} (its data cannot be read; run: teamkeep verify {run})"));
    }
    if plan.is_empty() {
        add("nothing to delete".to_owned());
    } else if !args.yes {
        let mut all = vec![format!("{} ({})", count(plan.runs.len(), "run"), view::size(plan.bytes))];
        let sessions = &plan.sessions;
        if !sessions.segments.is_empty() {
            let logs = count(sessions.segments.len(), "session log");
            all.push(format!("{logs} ({})", view::size(sessions.bytes())));
        }
        let left = view::size(plan.left);
        add(format!("would delete {} in total; {left} remain in the archive", all.join(", ")));
    }
    if let Some(most) = args.max_size.filter(|most| plan.left > *most) {
        add(format!("still more than {}: the rest cannot be deleted", view::size(most)));
    }
    document
}

/// Counts the runs to delete that a destination still lacks.
fn unshipped_runs(context: &Context, plan: &PrunePlan) -> Result<Option<String>> {
    let ship = &context.config.ship;
    if !ship.is_configured() {
        return Ok(None);
    }
    let (state, _) = Shipping::of(&context.paths).read()?;
    let destinations = state.configured(ship);
    let is_unshipped = |(candidate, _): &&(Candidate, Reason)| {
        let mut deliveries =
            destinations.iter().map(|destination| state.delivery(destination, &candidate.run));
        deliveries.any(|delivery| matches!(delivery, RunDelivery::Unsent | RunDelivery::NotEnded))
    };
    let runs = plan.runs.iter().filter(is_unshipped).count();
    Ok((runs > 0).then(|| format!("{} not shipped; see: teamkeep ship status", count(runs, "run"))))
}

fn object(plan: &PrunePlan, unreadable: &[String], pruned: Option<&Pruned>) -> Value {
    let run = |run: &RunRecord, why: Value| json!({"run": run.run, "team": run.team, "why": why});
    let runs = plan.runs.iter().map(|(candidate, reason)| {
        let why = match reason {
            Reason::Age(_) => "age",
            Reason::Count => "count",
            Reason::Size => "size",
        };
        run(&candidate.run, why.into())
    });
    let kept = plan.kept.iter().map(|(kept, obstacle)| run(kept, json!(obstacle)));
    let sessions = plan.sessions.segments.iter();
    let sessions =
        sessions.map(|segment| json!({"log": segment.log.to_string(), "segment": segment.name.to_string()}));
    json!({
        "v": 1,
        "runs": runs.collect::<Vec<_>>(),
        "kept": kept.collect::<Vec<_>>(),
        "unreadable": unreadable,
        "bytes": plan.bytes,
        "segments": sessions.collect::<Vec<_>>(),
        "log_bytes": plan.sessions.bytes(),
        "left": plan.left,
        "removed": pruned.map(|pruned| json!({
            "runs": pruned.runs, "segments": pruned.segments.len(), "bytes": pruned.bytes,
        })),
    })
}
