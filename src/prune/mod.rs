//! Deletes old runs: a plan, and its execution.
//!
//! Running teams are never deleted, nor what `verify` cannot read, because the loss would be unknown.

mod plan;

use std::time::Duration;

use teamkeep_store::archive::ExclusiveArchive;
use teamkeep_store::log::Segment;
use teamkeep_store::retention;
use teamkeep_system::error::Result;

pub use plan::{Bounds, Candidate, Obstacle, PrunePlan, Reason, candidates, obstacle, plan};

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

/// Applies a plan, in an order that can be interrupted anywhere. Waits so long for the lock of a log.
pub fn apply(plan: &PrunePlan, right: &ExclusiveArchive, patience: Duration) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    // Files that an interrupted call had moved aside.
    right.purge()?;
    right.remove_empty_runs(MIN_AGE)?;
    for (Candidate { run, bytes, journal, .. }, _) in &plan.runs {
        let why = match right.remove_run(run, *journal) {
            Ok(true) => {
                pruned.runs += 1;
                pruned.bytes += bytes;
                continue;
            }
            Ok(false) => "it has changed".to_owned(),
            Err(error) => error.to_string(),
        };
        pruned.problems.push(format!("kept run {}: {why}", run.run));
    }
    // A run that stays needs the lines of its sessions.
    if pruned.problems.is_empty() {
        let removed = retention::apply(&plan.sessions, &plan.logs, patience);
        pruned.bytes += removed.bytes;
        pruned.segments = removed.segments;
        pruned.problems.extend(removed.failures.iter().map(ToString::to_string));
    }
    right.purge()?;
    Ok(pruned)
}
