//! Deletes what the plan names, in an order that can be interrupted anywhere.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

use super::inventory::Inventory;
use super::plan::Plan;
use super::reachability::reachable_from;
use crate::archive::{ExclusiveArchive, ObjectInfo};
use crate::error::Result;
use crate::retention::{self, Needs, Removal, RemovalReason, RetentionLock};
use crate::timeline::RunCatalog;

/// The deleted items.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Number of runs.
    pub runs: usize,
    /// Number of contents.
    pub contents: usize,
    /// Number of log segments.
    pub segments: usize,
    /// The bytes of the runs, contents and segments.
    pub bytes: u64,
    /// The items that could not be deleted, and why.
    pub problems: Vec<String>,
}

/// The context of the deletion.
#[derive(Debug)]
pub struct PruneContext<'a> {
    /// The lock that allows deleting.
    pub right: &'a ExclusiveArchive,
    /// The event log's directory.
    pub log: &'a Path,
    /// The gatekeeper's directory: the counts of a run are deleted with it.
    pub policy: &'a Path,
    /// How long a hook call can take between finding a content and naming it.
    pub grace: Duration,
    /// How long to wait for locks.
    pub patience: Duration,
}

/// Applies a plan. `done` is called with the number of bytes read.
///
/// # Errors
/// Deleting fails. Earlier deletions remain, and the store is consistent.
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
    let mut all_went = true;
    for going in &plan.runs {
        let held = &survey.runs[going.place];
        let run = &held.run;
        match ground.right.remove_run(run) {
            Ok(true) => {
                pruned.runs += 1;
                pruned.bytes += held.bytes;
                // The run's name comes from a directory and is a valid file name. The overrides are in the same
                // directory and belong to no run.
                if !run.run.eq_ignore_ascii_case("overrides") {
                    let _ = std::fs::remove_file(ground.policy.join(format!("{}.json", run.run)));
                }
            }
            Ok(false) => {
                all_went = false;
                pruned.problems.push(format!("kept run {}: it has changed", run.run));
            }
            Err(error) => {
                all_went = false;
                pruned.problems.push(format!("kept run {}: {error}", run.run));
            }
        }
    }
    contents(survey, plan, ground, &mut pruned, done)?;
    if all_went {
        segments(survey, plan, ground, &mut pruned)?;
    }
    ground.right.purge()?;
    Ok(pruned)
}

fn contents(
    survey: &Inventory,
    plan: &Plan,
    ground: &PruneContext<'_>,
    pruned: &mut Pruned,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let archive = ground.right.archive();
    let files = plan.contents.iter().flat_map(|place| &survey.contents[*place].files);
    let mut going: Vec<&ObjectInfo> = Vec::new();
    for stored in files {
        done(stored.size);
        // A content that does not match its name may be the only copy of something.
        match archive.objects.check(stored) {
            Ok(()) => going.push(stored),
            Err(error) => pruned.problems.push(format!("{error}; it was kept")),
        }
    }
    if going.is_empty() {
        return Ok(());
    }
    let Some(held) = ground.right.hold()? else {
        pruned
            .problems
            .push("objects were not removed because a hook is writing; run prune again".to_owned());
        return Ok(());
    };
    let needed = named(ground);
    if needed.is_none() {
        pruned
            .problems
            .push("objects were not removed: a run that may need them cannot be read completely".to_owned());
        return Ok(());
    }
    for stored in going.iter().filter(|stored| !is_needed(needed.as_ref(), &stored.hash)) {
        ground.right.quarantine(stored)?;
        pruned.contents += 1;
        pruned.bytes += stored.size;
    }
    drop(held);
    // A hook call of a team that had no lock yet may have found a content just before it was deleted, and name it just
    // after.
    std::thread::sleep(ground.grace);
    let needed = named(ground);
    pruned.contents -= ground.right.restore_quarantined(|hash| is_needed(needed.as_ref(), hash))?;
    Ok(())
}

/// Every content that a run names; `None` if some run cannot be read completely.
fn named(ground: &PruneContext<'_>) -> Option<HashSet<String>> {
    let archive = ground.right.archive();
    let library = RunCatalog::open(archive.clone(), ground.log.to_owned());
    let mut named = HashSet::new();
    let cached = archive.cached_objects();
    let mut unread = !library.damaged.is_empty() || library.unlisted.is_some();
    for run in &library.runs {
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

fn segments(survey: &Inventory, plan: &Plan, ground: &PruneContext<'_>, pruned: &mut Pruned) -> Result<()> {
    if plan.segments.is_empty() {
        return Ok(());
    }
    let busy = "log segments were not removed because a hook is writing; run prune again";
    let Some(right) = RetentionLock::take(ground.log, ground.patience)? else {
        pruned.problems.push("log segments were not removed: another process prunes the log".to_owned());
        return Ok(());
    };
    let removals = plan.segments.iter().map(|place| {
        let segment = survey.segments[*place].segment.clone();
        Removal { segment, why: RemovalReason::Unneeded, only: BTreeSet::new() }
    });
    let removals = retention::Plan { removals: removals.collect(), ..retention::Plan::default() };
    let archive = ground.right.archive();
    let (all, damaged) = archive.runs();
    let needs = Needs::new(&all, &damaged);
    let gone = retention::apply(&removals, archive, &needs, &right, ground.patience)?;
    pruned.segments += gone.count;
    pruned.bytes += gone.bytes;
    pruned.problems.extend(gone.failures.iter().map(ToString::to_string));
    pruned.problems.extend(gone.is_busy.then(|| busy.to_owned()));
    Ok(())
}
