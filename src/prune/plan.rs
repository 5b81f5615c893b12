//! Plans what to delete, from the survey and the limits only.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::TimeDelta;

use super::inventory::{Closed, Inventory, RunState};
use teamkeep_core::config;
use teamkeep_core::error::Result;
use teamkeep_core::store::archive::{Archive, RunRecord};
use teamkeep_core::store::log::{self, SegmentName};
use teamkeep_core::store::retention::{self, Facts, Needs, Removal, RemovalReason};
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Delete runs that ended longer ago.
    pub older_than: Option<Duration>,
    /// Keep only this many runs, newest first.
    pub keep: Option<usize>,
    /// Delete the oldest runs until the archive has at most this many bytes.
    pub max_size: Option<u64>,
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

/// The data to delete. Runs are indexes in the inventory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The runs, oldest first.
    pub runs: Vec<(usize, Reason)>,
    /// The runs that stay despite the limits.
    pub kept: Vec<usize>,
    /// Log segments.
    pub segments: Vec<Removal>,
    /// The bytes to delete from the archive.
    pub bytes: u64,
    /// The bytes to delete from the log.
    pub log_bytes: u64,
    /// The bytes that stay in the archive.
    pub left: u64,
}

/// Plans, and checks that each run to delete can be read completely. One that cannot stays, and the plan is made
/// again.
pub fn plan_verified(
    survey: &mut Inventory,
    archive: &Archive,
    plan: impl Fn(&Inventory) -> Plan,
    done: &mut dyn FnMut(u64),
) -> Result<Plan> {
    let mut known = BTreeSet::new();
    loop {
        let plan = plan(survey);
        let new: Vec<usize> =
            plan.runs.iter().map(|(index, _)| *index).filter(|index| known.insert(*index)).collect();
        if new.is_empty() || !survey.verify(archive, &new, done)? {
            return Ok(plan);
        }
    }
}

pub fn plan(survey: &Inventory, bounds: &Bounds, limits: &config::Log, now: Timestamp) -> Plan {
    let mut plan = Plan { left: survey.bytes(), ..Plan::default() };
    let max_age = bounds.older_than.and_then(|most| TimeDelta::from_std(most).ok());
    let older = survey.runs.len().saturating_sub(bounds.keep.unwrap_or(usize::MAX));
    for (index, held) in survey.runs.iter().enumerate() {
        let age = held.since.map(|since| now - since);
        let old = age.filter(|age| max_age.is_some_and(|most| *age > most));
        let reason = match old {
            Some(age) => Reason::Age(age),
            None if index < older => Reason::Count,
            None if bounds.max_size.is_some_and(|most| plan.left > most) => Reason::Size,
            None => continue,
        };
        if held.state != RunState::Over {
            plan.kept.push(index);
            continue;
        }
        plan.runs.push((index, reason));
        plan.delete(held.bytes);
    }
    plan.delete_segments(survey, bounds, limits, now);
    plan
}

impl Plan {
    fn delete(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.left = self.left.saturating_sub(bytes);
    }

    /// Deletes the segments that the log's own bounds remove, after their lines are copied into the runs that need them,
    /// and the segments that have nothing of a recorded run and nothing younger than the age bound.
    fn delete_segments(&mut self, survey: &Inventory, bounds: &Bounds, limits: &config::Log, now: Timestamp) {
        let going: BTreeSet<usize> = self.runs.iter().map(|(index, _)| *index).collect();
        let staying = survey.runs.iter().enumerate().filter(|(index, _)| !going.contains(index));
        let staying: Vec<RunRecord> = staying.map(|(_, held)| held.run.clone()).collect();
        let needs = Needs::new(&staying, &survey.damaged);
        let known: BTreeMap<&SegmentName, &Closed> =
            survey.segments.iter().map(|closed| (&closed.segment.name, closed)).collect();
        let is_unshipped = |segment: &log::Segment| survey.unshipped.kept.contains(&segment.name);
        let mut facts = |segment: &log::Segment| {
            let closed = known.get(&segment.name).filter(|_| !is_unshipped(segment));
            // Unknown contents are kept.
            let unknown = || Facts { is_held: true, ..Facts::default() };
            closed.map_or_else(unknown, |closed| needs.facts_of(&closed.contents))
        };
        let bounded = retention::plan(&survey.log, survey.current.as_ref(), limits, now, &mut facts);
        // Only a background process removes some lines of a segment.
        let bounded = bounded.removals.iter().filter(|removal| removal.only.is_empty());
        let bounded: BTreeSet<&str> = bounded.map(|removal| removal.segment.name.as_str()).collect();
        let mut runs: BTreeSet<&str> = staying.iter().map(|run| run.run.as_str()).collect();
        runs.extend(survey.damaged.iter().map(String::as_str));
        let sessions: BTreeSet<&str> =
            staying.iter().flat_map(|run| &run.sessions).map(|session| session.id.as_str()).collect();
        let oldest = bounds
            .older_than
            .and_then(|most| TimeDelta::from_std(most).ok())
            .and_then(|most| now.checked_sub(most));
        // A run whose data cannot be read may have any session.
        let doubtful = !survey.damaged.is_empty();
        for Closed { segment, contents } in &survey.segments {
            let is_named = contents.runs.iter().any(|run| runs.contains(run.as_str()))
                || contents.sessions.keys().any(|session| sessions.contains(session.as_str()));
            let loose = contents.loose;
            let is_young = loose.is_some_and(|loose| oldest.is_none_or(|oldest| loose >= oldest));
            let is_over = bounded.contains(segment.name.as_str());
            let may_be_of_damaged = doubtful && (loose.is_some() || !contents.sessions.is_empty());
            if is_unshipped(segment) {
                continue;
            }
            if is_over || (!contents.unreadable && !may_be_of_damaged && !is_named && !is_young) {
                let (segment, why) = (segment.clone(), RemovalReason::Unneeded);
                self.log_bytes += segment.size;
                self.segments.push(Removal { segment, why, only: BTreeSet::new() });
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.segments.is_empty()
    }
}

#[cfg(test)]
mod tests;
