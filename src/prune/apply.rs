//! The plan's execution, in an order in which it can be stopped anywhere.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

use super::needs::needs;
use super::plan::Plan;
use super::survey::Survey;
use crate::archive::{Maintenance, Stored};
use crate::error::Result;
use crate::retention::{self, Needs, Removal, Right, Why};
use crate::timeline::Library;

/// What went.
#[derive(Debug, Default)]
pub struct Pruned {
    /// How many runs.
    pub runs: usize,
    /// How many contents.
    pub contents: usize,
    /// How many segments of the log.
    pub segments: usize,
    /// The bytes of the runs, the contents and the segments.
    pub bytes: u64,
    /// What could not go, and why.
    pub problems: Vec<String>,
}

/// What the execution works with.
#[derive(Debug)]
pub struct Ground<'a> {
    /// The right to remove.
    pub right: &'a Maintenance,
    /// The event log's directory.
    pub log: &'a Path,
    /// The gatekeeper's directory: what it remembers of a run goes with the run.
    pub policy: &'a Path,
    /// How long a hook call may take between finding a content and naming it.
    pub grace: Duration,
    /// How long locks are waited for.
    pub patience: Duration,
}

/// Carries out a plan. `done` is told of bytes as they are read.
///
/// # Errors
/// When the disk refuses. What was removed until then is removed, and the record is whole.
pub fn apply(survey: &Survey, plan: &Plan, ground: &Ground<'_>, done: &mut dyn FnMut(u64)) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    // What somebody who was stopped had set aside.
    let needed = named(ground);
    ground.right.bring_back(|hash| is_needed(needed.as_ref(), hash))?;
    ground.right.forget()?;
    let mut all_went = true;
    for going in &plan.runs {
        let held = &survey.runs[going.place];
        let run = &held.run;
        match ground.right.retire(run) {
            Ok(true) => {
                pruned.runs += 1;
                pruned.bytes += held.bytes;
                // Its name became a directory's, and is no path. One that stays is made anew or read by nobody.
                // What a human let through lies beside the notebooks, and is no run's.
                if !run.run.eq_ignore_ascii_case("overrides") {
                    let _ = std::fs::remove_file(ground.policy.join(format!("{}.json", run.run)));
                }
            }
            Ok(false) => {
                all_went = false;
                pruned.problems.push(format!("run {} stays: it has changed", run.run));
            }
            Err(error) => {
                all_went = false;
                pruned.problems.push(format!("run {} stays: {error}", run.run));
            }
        }
    }
    contents(survey, plan, ground, &mut pruned, done)?;
    if all_went {
        segments(survey, plan, ground, &mut pruned)?;
    }
    ground.right.forget()?;
    Ok(pruned)
}

fn contents(
    survey: &Survey,
    plan: &Plan,
    ground: &Ground<'_>,
    pruned: &mut Pruned,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let archive = ground.right.archive();
    let files = plan.contents.iter().flat_map(|place| &survey.contents[*place].files);
    let mut going: Vec<&Stored> = Vec::new();
    for stored in files {
        done(stored.size);
        // What is not what it is called may be the only copy of something.
        match archive.objects.check(stored) {
            Ok(()) => going.push(stored),
            Err(error) => pruned.problems.push(format!("{error}; it stays")),
        }
    }
    if going.is_empty() {
        return Ok(());
    }
    let Some(held) = ground.right.hold()? else {
        pruned.problems.push("the contents stay until the next time: a hook is writing".to_owned());
        return Ok(());
    };
    let needed = named(ground);
    if needed.is_none() {
        pruned.problems.push("the contents stay: a run cannot be read whole, and may need them".to_owned());
        return Ok(());
    }
    for stored in going.iter().filter(|stored| !is_needed(needed.as_ref(), &stored.hash)) {
        ground.right.set_aside(stored)?;
        pruned.contents += 1;
        pruned.bytes += stored.size;
    }
    drop(held);
    // A hook of a team that had no lock yet may have found a content just before it went, and name it just after.
    std::thread::sleep(ground.grace);
    let needed = named(ground);
    pruned.contents -= ground.right.bring_back(|hash| is_needed(needed.as_ref(), hash))?;
    Ok(())
}

/// Every content that a run names by now; `None` when there is a run that cannot be read whole.
fn named(ground: &Ground<'_>) -> Option<HashSet<String>> {
    let archive = ground.right.archive();
    let library = Library::open(archive.clone(), ground.log.to_owned());
    let mut named = HashSet::new();
    let cached = archive.cached_objects();
    let mut unread = !library.damaged.is_empty() || library.unlisted.is_some();
    for run in &library.runs {
        let needs = needs(archive, run, &cached);
        named.extend(needs.hashes);
        named.extend(needs.cached);
        unread |= needs.unread.is_some();
    }
    (!unread).then_some(named)
}

/// Whether something needs a content; where nobody can tell, it may.
fn is_needed(named: Option<&HashSet<String>>, hash: &str) -> bool {
    named.is_none_or(|named| named.contains(hash))
}

fn segments(survey: &Survey, plan: &Plan, ground: &Ground<'_>, pruned: &mut Pruned) -> Result<()> {
    if plan.segments.is_empty() {
        return Ok(());
    }
    let busy = "the log's segments are kept for now: a hook is writing";
    let Some(right) = Right::take(ground.log, ground.patience)? else {
        pruned
            .problems
            .push("the log's segments are kept for now: another process prunes the log".to_owned());
        return Ok(());
    };
    let removals = plan.segments.iter().map(|place| {
        let segment = survey.segments[*place].segment.clone();
        Removal { segment, why: Why::Unneeded, only: BTreeSet::new() }
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
