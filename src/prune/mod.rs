//! Deletes old runs: an inventory, a plan based on it, and its execution.
//!
//! Running teams are never deleted, nor what `verify` cannot read, because the loss would be unknown.

mod inventory;
mod plan;

use std::path::PathBuf;
use std::time::Duration;

use teamkeep_core::error::Result;
use teamkeep_core::store::archive::ExclusiveArchive;
use teamkeep_core::store::log::{EventLog, Segment};
use teamkeep_core::store::retention;

pub use inventory::{Inventory, RunInventory, RunState, survey};
pub use plan::{Bounds, Plan, Reason, plan, plan_verified};

/// Minimum age of an empty directory of a run: its first hook call may be about to write to it.
const MIN_AGE: Duration = Duration::from_secs(3_600);

#[derive(Debug, Default)]
pub struct Pruned {
    pub runs: usize,
    /// Of sessions without a run.
    pub segments: Vec<Segment>,
    /// The bytes of the runs and segments.
    pub bytes: u64,
    /// The items that could not be deleted, and why.
    pub problems: Vec<String>,
}

#[derive(Debug)]
pub struct PruneContext<'a> {
    pub right: &'a ExclusiveArchive,
    /// The logs of sessions that no run needs.
    pub logs: &'a [EventLog],
    /// How long a hook call can take.
    pub grace: Duration,
    /// How long to wait for the lock of a log.
    pub patience: Duration,
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
    for (index, _) in &plan.runs {
        let RunInventory { run, bytes, journal, .. } = &survey.runs[*index];
        let why = match ground.right.remove_run(run, *journal) {
            Ok(true) => {
                pruned.runs += 1;
                pruned.bytes += bytes;
                continue;
            }
            Ok(false) => "it has changed".to_owned(),
            Err(error) => error.to_string(),
        };
        has_kept = true;
        pruned.problems.push(format!("kept run {}: {why}", run.run));
    }
    if !has_kept {
        let removed = retention::apply(&plan.sessions, ground.logs, ground.patience);
        pruned.bytes += removed.bytes;
        pruned.segments = removed.segments;
        pruned.problems.extend(removed.failures.iter().map(ToString::to_string));
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
