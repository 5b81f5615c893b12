//! Deletes old runs: an inventory, a plan based on it, and its execution.
//!
//! Running teams are never deleted, nor what `verify` cannot read, because the loss would be unknown.

mod inventory;
mod plan;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::timeline::RunCatalog;
use inventory::reachable_from;
use teamkeep_core::error::Result;
use teamkeep_core::store::archive::{ExclusiveArchive, ObjectInfo};
use teamkeep_core::store::retention::{self, Needs, Recording, RetentionLock};

pub use inventory::{Inventory, RunInventory, RunState, survey};
pub use plan::{Bounds, Plan, Reason, plan, plan_verified};

/// Minimum age of what no run needs yet: its writer may be about to name it.
const MIN_AGE: Duration = Duration::from_secs(3_600);

#[derive(Debug, Default)]
pub struct Pruned {
    pub runs: usize,
    pub contents: usize,
    pub segments: usize,
    /// The bytes of the runs, contents and segments.
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
    /// How long a hook call can take between finding a content and naming it.
    pub grace: Duration,
    pub recording: Recording,
}

/// Applies a plan, in an order that can be interrupted anywhere. `done` is called with the number of bytes read.
pub fn apply(
    survey: &Inventory,
    plan: &Plan,
    ground: &PruneContext<'_>,
    done: &mut dyn FnMut(u64),
) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    // Files that an interrupted call had moved aside.
    let needed = named(ground);
    ground.right.restore_quarantined(|hash| is_needed(needed.as_ref(), hash))?;
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
    contents(survey, plan, ground, &mut pruned, done)?;
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

fn contents(
    survey: &Inventory,
    plan: &Plan,
    ground: &PruneContext<'_>,
    pruned: &mut Pruned,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let archive = &ground.right.archive;
    let files = plan.contents.iter().flat_map(|index| &survey.contents[*index].files);
    let mut unneeded: Vec<&ObjectInfo> = Vec::new();
    for stored in files {
        done(stored.size);
        // A content that does not match its name may be the only copy of something.
        match archive.objects.check(stored) {
            Ok(()) => unneeded.push(stored),
            Err(error) => pruned.problems.push(format!("{error}; it was kept")),
        }
    }
    if unneeded.is_empty() {
        return Ok(());
    }
    let Some(locks) = ground.right.hold()? else {
        pruned
            .problems
            .push("objects were not removed because a hook is writing; run prune again".to_owned());
        return Ok(());
    };
    let Some(needed) = named(ground) else {
        let what = "objects were not removed: a run that may need them cannot be read completely";
        pruned.problems.push(what.to_owned());
        return Ok(());
    };
    for stored in unneeded.iter().filter(|stored| !needed.contains(&stored.hash)) {
        ground.right.quarantine(stored)?;
        pruned.contents += 1;
        pruned.bytes += stored.size;
    }
    drop(locks);
    // A hook call of a team that had no lock yet may have found a content just before it was deleted, and name it just
    // after.
    std::thread::sleep(ground.grace);
    let needed = named(ground);
    pruned.contents -= ground.right.restore_quarantined(|hash| is_needed(needed.as_ref(), hash))?;
    Ok(())
}

/// Every content that a run names; `None` if some run cannot be read completely.
fn named(ground: &PruneContext<'_>) -> Option<HashSet<String>> {
    let archive = &ground.right.archive;
    let catalog = RunCatalog::open(archive.clone(), ground.log.to_owned());
    let mut named = HashSet::new();
    let cached = archive.cached_objects();
    let mut unread = !catalog.damaged.is_empty() || catalog.unlisted.is_some();
    for run in &catalog.runs {
        let needs = reachable_from(archive, run, &cached);
        named.extend(needs.hashes);
        named.extend(needs.cached);
        unread |= needs.unread.is_some();
    }
    (!unread).then_some(named)
}

/// Whether a content is needed, or may be.
fn is_needed(named: Option<&HashSet<String>>, hash: &str) -> bool {
    named.is_none_or(|named| named.contains(hash))
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
