//! Plans what to delete, from the survey and the limits only.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;

use super::inventory::{Inventory, RunState};
use crate::timeline::RunCatalog;
use teamkeep_core::config;
use teamkeep_core::error::Result;
use teamkeep_core::store::log::EventLog;
use teamkeep_core::store::retention;
use teamkeep_core::store::shipping::UnshippedSegments;
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
    /// The lines of sessions without a run.
    pub sessions: retention::Plan,
    /// The bytes to delete from the archive.
    pub bytes: u64,
    /// The bytes that stay in the archive.
    pub left: u64,
}

/// Plans, and checks that each run to delete can be read completely. One that cannot stays, and the plan is made
/// again.
pub fn plan_verified(
    survey: &mut Inventory,
    catalog: &RunCatalog,
    plan: impl Fn(&Inventory) -> Plan,
    done: &mut dyn FnMut(u64),
) -> Result<Plan> {
    let mut known = BTreeSet::new();
    loop {
        let plan = plan(survey);
        let new: Vec<usize> =
            plan.runs.iter().map(|(index, _)| *index).filter(|index| known.insert(*index)).collect();
        if new.is_empty() || !survey.verify(catalog, &new, done)? {
            return Ok(plan);
        }
    }
}

/// Plans which runs to delete.
pub fn plan(survey: &Inventory, bounds: &Bounds, now: Timestamp) -> Plan {
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
    plan
}

impl Plan {
    fn delete(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.left = self.left.saturating_sub(bytes);
    }

    /// Plans which lines of sessions to delete that no run needs after these are deleted.
    pub fn add_sessions(
        &mut self,
        survey: &Inventory,
        catalog: &RunCatalog,
        bounds: &Bounds,
        limits: &config::Log,
        unshipped: &UnshippedSegments,
    ) -> Result<Vec<EventLog>> {
        let gone = self.runs.iter().map(|(index, _)| survey.runs[*index].run.run.clone()).collect();
        let logs = retention::unneeded(&catalog.logs, &catalog.archive, &gone)?;
        let keep = bounds.older_than.map_or(limits.keep, |most| most.min(limits.keep));
        let limits = config::Log { keep, ..limits.clone() };
        self.sessions = retention::plan(&logs, &limits, |segment| unshipped.keeps(segment))?;
        Ok(logs)
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.sessions.removals.is_empty()
    }
}

#[cfg(test)]
mod tests;
