//! Deletes old runs: an inventory, a plan based on it, and its execution.
//!
//! Running teams are never deleted, nor what `verify` cannot read, because the loss would be unknown.

mod inventory;
mod plan;

use std::path::{Path, PathBuf};
use std::time::Duration;

use teamkeep_core::error::Result;
use teamkeep_core::store::archive::ExclusiveArchive;
use teamkeep_core::store::retention::{self, Needs, Recording, RetentionLock};

pub use inventory::{Inventory, RunInventory, RunState, survey};
pub use plan::{Bounds, Plan, Reason, plan, plan_verified};

/// Minimum age of an empty directory of a run: its first hook call may be about to write to it.
const MIN_AGE: Duration = Duration::from_secs(3_600);

#[derive(Debug, Default)]
pub struct Pruned {
    pub runs: usize,
    pub segments: usize,
    /// The bytes of the runs and segments.
    pub bytes: u64,
    /// The items that could not be deleted, and why.
    pub problems: Vec<String>,
}

#[derive(Debug)]
pub struct PruneContext<'a> {
    pub right: &'a ExclusiveArchive,
    pub log: &'a Path,
    /// The gatekeeper's directory: the counts of a run are deleted with it.
    pub policy: &'a Path,
    /// How long a hook call can take.
    pub grace: Duration,
    pub recording: Recording,
}

/// Applies a plan, in an order that can be interrupted anywhere.
pub fn apply(survey: &Inventory, plan: &Plan, ground: &PruneContext<'_>) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    // Files that an interrupted call had moved aside.
    ground.right.purge()?;
    ground.right.remove_empty_runs(MIN_AGE)?;
    let mut has_kept = false;
    // A late hook call of an ended run may be about to record the event that names its last change of the journal.
    if plan.runs.iter().any(|(index, _)| is_young(&survey.runs[*index], ground)) {
        std::thread::sleep(ground.grace);
    }
    let runs: Vec<String> = plan.runs.iter().map(|(index, _)| survey.runs[*index].run.run.clone()).collect();
    if !ground.recording.record_pruned_runs(ground.log, runs)? {
        pruned.problems.push("nothing was removed because a hook is writing; run prune again".to_owned());
        return Ok(pruned);
    }
    for (index, _) in &plan.runs {
        let RunInventory { run, bytes, journal, .. } = &survey.runs[*index];
        let why = match ground.right.remove_run(run, *journal) {
            Ok(true) => {
                pruned.runs += 1;
                pruned.bytes += bytes;
                // The run's name comes from a directory and is a valid file name. The overrides are in the same
                // directory and belong to no run.
                if !run.run.eq_ignore_ascii_case("overrides") {
                    for ending in ["json", "files.jsonl", "spent.jsonl", "spent.lock"] {
                        let _ = std::fs::remove_file(ground.policy.join(format!("{}.{ending}", run.run)));
                    }
                }
                continue;
            }
            Ok(false) => "it has changed".to_owned(),
            Err(error) => error.to_string(),
        };
        has_kept = true;
        pruned.problems.push(format!("kept run {}: {why}", run.run));
    }
    if !has_kept {
        segments(plan, ground, &mut pruned)?;
    }
    ground.right.purge()?;
    Ok(pruned)
}

/// Whether the journal of a run was written within the time that a hook call can take.
fn is_young(held: &RunInventory, ground: &PruneContext<'_>) -> bool {
    let modified = |path: &PathBuf| path.symlink_metadata().and_then(|found| found.modified()).ok();
    let journals = ground.right.archive.journal_files(&held.run.run);
    let mut times = journals.iter().filter_map(modified);
    times.any(|time| time.elapsed().is_ok_and(|age| age < ground.grace))
}

fn segments(plan: &Plan, ground: &PruneContext<'_>, pruned: &mut Pruned) -> Result<()> {
    if plan.segments.is_empty() {
        return Ok(());
    }
    let Some(right) = RetentionLock::take(ground.log, ground.recording.patience)? else {
        pruned.problems.push("log segments were not removed: another process prunes the log".to_owned());
        return Ok(());
    };
    let removals = retention::Plan { removals: plan.segments.clone(), ..retention::Plan::default() };
    let archive = &ground.right.archive;
    let (all, damaged) = archive.runs();
    let needs = Needs::new(&all, &damaged);
    let gone = retention::apply(&removals, archive, &needs, &right, &ground.recording)?;
    pruned.segments += gone.count;
    pruned.bytes += gone.bytes;
    pruned.problems.extend(gone.failures.iter().map(ToString::to_string));
    if gone.is_busy {
        let what = "log segments were not removed because a hook is writing; run prune again";
        pruned.problems.push(what.to_owned());
    }
    Ok(())
}
