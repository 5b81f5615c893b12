//! Deletes old runs: a plan, and its execution.
//!
//! Running teams are never deleted, nor what `verify` cannot read, because the loss would be unknown.

use std::time::Duration;

use chrono::TimeDelta;
use serde::Serialize;

use crate::verify::{Scope, Verifier};
use teamkeep_config as config;
use teamkeep_history::timeline::{RunCatalog, is_client_gone, open_index};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{ExclusiveArchive, RunRecord};
use teamkeep_store::log::{EventLog, Segment};
use teamkeep_store::retention;
use teamkeep_store::shipping::UnshippedSegments;
use teamkeep_system::error::{Error, Result};

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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Delete runs that ended longer ago.
    pub older_than: Option<Duration>,
    /// Keep only this many runs, newest first.
    pub keep: Option<usize>,
    /// Delete the oldest runs until the archive has at most this many bytes.
    pub max_size: Option<u64>,
}

/// A run that a limit may reach.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub run: RunRecord,
    /// When it ended or was imported.
    pub since: Option<Timestamp>,
    /// The bytes of its files.
    pub bytes: u64,
    /// The uncompressed bytes of its journals, from before they were read.
    pub journal: u64,
}

/// Why a run is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It ended this long ago.
    Age(TimeDelta),
    /// There are enough newer runs.
    Count,
    /// The archive is too large.
    Size,
}

/// Why a run stays despite the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Obstacle {
    /// Its Claude Code process may be running.
    Alive,
    /// It has ended, but its transcripts are not stored yet.
    Unfinished,
    /// Parts of it cannot be read.
    Damaged,
}

/// The data to delete.
#[derive(Debug, Default)]
pub struct PrunePlan {
    /// The runs, oldest first.
    pub runs: Vec<(Candidate, Reason)>,
    /// The runs that stay despite the limits.
    pub kept: Vec<(RunRecord, Obstacle)>,
    /// The logs of sessions that no run needs, and which of their lines to delete.
    pub logs: Vec<EventLog>,
    pub sessions: retention::Plan,
    /// The bytes to delete from the archive.
    pub bytes: u64,
    /// The bytes that stay in the archive.
    pub left: u64,
}

/// All runs, oldest first.
pub fn candidates(catalog: &RunCatalog) -> Result<Vec<Candidate>> {
    let archive = &catalog.archive;
    if let Some(why) = &catalog.unlisted {
        return Err(Error::new(format!("cannot prune: {why}"))
            .hint("nothing was removed, because the list of runs is incomplete")
            .hint("restore the directory, then run: teamkeep verify"));
    }
    let candidate = |run: &RunRecord| {
        let journal = archive.journal_size(&run.run);
        let imported = run.imported.as_ref().map(|imported| imported.at);
        let last = || archive.journal(&run.run).snapshots.pop().map(|last| last.at);
        let since = imported.or(run.ended_at).or_else(last).or(Some(run.started_at));
        let since = since.filter(|at| at.is_valid());
        Candidate { run: run.clone(), since, bytes: archive.run_size(&run.run), journal }
    };
    // The log of a damaged run describes it for readers, but not for a deletion.
    let is_whole = |run: &&RunRecord| !catalog.damaged.contains(&run.run);
    Ok(catalog.runs.iter().filter(is_whole).map(candidate).collect())
}

/// Why a run cannot be deleted, if so. It is read completely.
pub fn obstacle(catalog: &RunCatalog, run: &RunRecord) -> Result<Option<Obstacle>> {
    let archive = &catalog.archive;
    if archive.is_unfinished(&run.run) {
        return Ok(Some(Obstacle::Unfinished));
    }
    // An imported run gets no more events here, unless its session continues here.
    let is_closed = run.imported.is_some() && open_index(archive, run).is_none();
    if run.ended_at.is_none() && !is_closed && !is_client_gone(archive, run) {
        return Ok(Some(Obstacle::Alive));
    }
    let (logs, scope) = (&catalog.logs, Scope::Run(run.run.clone()));
    let found = Verifier { archive, logs, paths: None, scope, against: &[] }.run(&mut |_| ())?;
    // The contents that an export lacked cannot be found here either.
    let is_complete = run.imported.is_some() && found.lacks_only_contents();
    Ok((!found.is_readable() && !is_complete).then_some(Obstacle::Damaged))
}

/// Plans which runs to delete: those beyond the limits without an obstacle.
pub fn plan(
    runs: Vec<Candidate>,
    bounds: &Bounds,
    now: Timestamp,
    mut obstacle: impl FnMut(&RunRecord) -> Result<Option<Obstacle>>,
) -> Result<PrunePlan> {
    let mut plan = PrunePlan { left: runs.iter().map(|run| run.bytes).sum(), ..PrunePlan::default() };
    let max_age = bounds.older_than.and_then(|most| TimeDelta::from_std(most).ok());
    let older = runs.len().saturating_sub(bounds.keep.unwrap_or(usize::MAX));
    for (index, candidate) in runs.into_iter().enumerate() {
        let age = candidate.since.map(|since| now - since);
        let reason = match age.filter(|age| max_age.is_some_and(|most| *age > most)) {
            Some(age) => Reason::Age(age),
            None if index < older => Reason::Count,
            None if bounds.max_size.is_some_and(|most| plan.left > most) => Reason::Size,
            None => continue,
        };
        if let Some(obstacle) = obstacle(&candidate.run)? {
            plan.kept.push((candidate.run, obstacle));
            continue;
        }
        plan.bytes += candidate.bytes;
        plan.left = plan.left.saturating_sub(candidate.bytes);
        plan.runs.push((candidate, reason));
    }
    Ok(plan)
}

impl PrunePlan {
    /// Plans which lines of sessions to delete that no run needs after these are deleted.
    pub fn add_sessions(
        &mut self,
        catalog: &RunCatalog,
        bounds: &Bounds,
        limits: &config::Log,
        unshipped: &UnshippedSegments,
    ) -> Result<()> {
        let gone = self.runs.iter().map(|(gone, _)| gone.run.run.clone()).collect();
        self.logs = retention::unneeded(&catalog.logs, &catalog.archive, &gone)?;
        let keep = bounds.older_than.map_or(limits.keep, |most| most.min(limits.keep));
        let limits = config::Log { keep, ..limits.clone() };
        self.sessions = retention::plan(&self.logs, &limits, |segment| unshipped.keeps(segment))?;
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.sessions.segments.is_empty()
    }
}
