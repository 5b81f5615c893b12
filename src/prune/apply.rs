//! The plan's execution, in an order in which it can be stopped anywhere.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use super::plan::Plan;
use super::survey::{Survey, needs};
use crate::archive::{Maintenance, Stored};
use crate::error::Result;
use crate::log::Exclusive;
use crate::log::retention::{self, Removal, Why};
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
    /// The bytes of the contents and the segments.
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
    let named = named(ground);
    ground.right.bring_back(|hash| named.contains(hash))?;
    ground.right.forget()?;
    let mut all_went = true;
    for going in &plan.runs {
        let run = &survey.runs[going.place].run;
        match ground.right.retire(run) {
            Ok(true) => pruned.runs += 1,
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
    for stored in going.iter().filter(|stored| !needed.contains(&stored.hash)) {
        ground.right.set_aside(stored)?;
        pruned.contents += 1;
        pruned.bytes += stored.size;
    }
    drop(held);
    // A hook of a team that had no lock yet may have found a content just before it went, and name it just after.
    std::thread::sleep(ground.grace);
    let needed = named(ground);
    pruned.contents -= ground.right.bring_back(|hash| needed.contains(hash))?;
    Ok(())
}

/// Every content that a run names by now.
fn named(ground: &Ground<'_>) -> HashSet<String> {
    let archive = ground.right.archive();
    let library = Library::open(archive.clone(), ground.log.to_owned());
    library.runs.iter().flat_map(|run| needs(archive, run).0).collect()
}

fn segments(survey: &Survey, plan: &Plan, ground: &Ground<'_>, pruned: &mut Pruned) -> Result<()> {
    if plan.segments.is_empty() {
        return Ok(());
    }
    let Some(exclusive) = Exclusive::take(ground.log, ground.patience)? else {
        pruned.problems.push("the log's segments stay until the next time: a hook is writing".to_owned());
        return Ok(());
    };
    let removals = plan.segments.iter().map(|place| {
        let segment = survey.segments[*place].segment.clone();
        Removal { segment, why: Why::Unneeded }
    });
    let removals = retention::Plan { removals: removals.collect(), ..retention::Plan::default() };
    let gone = retention::apply(&removals, &exclusive);
    pruned.segments += gone.count;
    pruned.bytes += gone.bytes;
    pruned.problems.extend(gone.failures.iter().map(ToString::to_string));
    Ok(())
}
