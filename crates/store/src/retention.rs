//! Which lines of sessions without a run are removed. The log of a run is a part of the run, and is removed with it.
//!
//! The unit is a segment. One that may be written to goes only when its session has been idle for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use crate::archive::Archive;
use crate::log::{EventLog, LogOwner, Logs, Segment, SegmentName};
use teamkeep_config as config;
use teamkeep_model::time::HOUR;
use teamkeep_system::error::Error;
use teamkeep_system::fs;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The segments to delete, oldest first.
    pub segments: Vec<Segment>,
    /// The bytes of the others that no run needs.
    pub kept_bytes: u64,
}

impl Plan {
    /// The bytes to delete.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }
}

/// The logs of sessions that took part in none of the runs, without these that are `gone`. There are none as long as the description
/// of a run cannot be read: it may have any session.
pub fn unneeded(logs: &Logs, archive: &Archive, gone: &BTreeSet<String>) -> io::Result<Vec<EventLog>> {
    let (runs, damaged) = archive.runs();
    if !damaged.is_empty() {
        return Ok(Vec::new());
    }
    let staying = runs.iter().filter(|run| !gone.contains(&run.run));
    let sessions: BTreeSet<&str> =
        staying.flat_map(|run| &run.sessions).map(|session| session.id.as_str()).collect();
    let is_unneeded = |log: &EventLog| match &log.owner {
        LogOwner::Run(_) => false,
        LogOwner::Session(session) => !sessions.contains(session.as_str()),
    };
    Ok(logs.of_sessions()?.into_iter().filter(is_unneeded).collect())
}

/// Plans which segments of these logs to delete: those that are too old, and then the oldest, until the rest is small enough.
///
/// # Errors
/// When a log cannot be listed.
pub fn plan(logs: &[EventLog], limits: &config::Log, is_held: impl Fn(&Segment) -> bool) -> io::Result<Plan> {
    let mut segments: Vec<Segment> = Vec::new();
    for log in logs {
        segments.extend(log.segments()?);
    }
    segments.sort_by_key(|segment| segment.modified);
    let mut plan = Plan { kept_bytes: segments.iter().map(|segment| segment.size).sum(), ..Plan::default() };
    let mut held: BTreeSet<LogOwner> = BTreeSet::new();
    for segment in segments {
        let age = segment.age();
        if segment.name >= SegmentName::Current && age < HOUR {
            // The session may continue.
            continue;
        }
        // The later segments of its log are kept, too.
        if held.contains(&segment.log) || is_held(&segment) {
            held.insert(segment.log);
        } else if age > limits.keep || plan.kept_bytes > limits.keep_size {
            plan.kept_bytes -= segment.size;
            plan.segments.push(segment);
        }
    }
    Ok(plan)
}

#[derive(Debug, Default)]
pub struct Pruned {
    pub segments: Vec<Segment>,
    pub bytes: u64,
    pub failures: Vec<Error>,
}

/// Deletes the planned segments, unless lines were added since, and the directories of logs that are empty then.
pub fn apply(plan: &Plan, logs: &[EventLog], patience: Duration) -> Pruned {
    let mut pruned = Pruned::default();
    let by_owner: BTreeMap<&LogOwner, &EventLog> = logs.iter().map(|log| (&log.owner, log)).collect();
    for segment in &plan.segments {
        let Some(log) = by_owner.get(&segment.log) else { continue };
        match log.remove(segment, patience) {
            Ok(true) => {
                pruned.bytes += segment.size;
                pruned.segments.push(segment.clone());
            }
            Ok(false) => {}
            Err(error) => {
                let what = format!("kept {}", segment.path().display());
                pruned.failures.push(Error::caused(what, error));
            }
        }
    }
    let is_empty = |log: &&EventLog| log.segments().is_ok_and(|segments| segments.is_empty());
    // Also those that a process left that was killed.
    for log in logs.iter().filter(is_empty) {
        pruned.failures.extend(fs::allow_missing(log.remove_if_empty(patience)).err().map(Error::from));
    }
    pruned
}

#[cfg(test)]
mod tests;
