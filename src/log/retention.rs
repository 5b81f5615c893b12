//! What the log may forget: a pure plan, then its execution under the lock.

use std::io;

use chrono::TimeDelta;

use super::{Exclusive, Name, Segment};
use crate::clock::Time;
use crate::config;
use crate::error::Error;
use crate::fs;

/// What would be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The segments to delete, oldest first.
    pub removals: Vec<Removal>,
    /// How many segments stay.
    pub kept: usize,
    /// How many bytes stay.
    pub kept_bytes: u64,
}

/// A segment to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The segment.
    pub segment: Segment,
    /// Why.
    pub why: Why,
}

/// Why a segment is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Its last day is longer ago than the log is kept.
    Age,
    /// All segments together are larger than the log may be.
    Size,
    /// No run on record needs it.
    Unneeded,
}

/// Plans what to delete of these segments (oldest first, as [`super::list`] gives them). The current segment
/// stays, and so does a solo one of the last hour: its writer holds no lock and may be at work.
pub fn plan(segments: &[Segment], current: Option<&Name>, limits: &config::Log, now: Time) -> Plan {
    let mut plan = Plan {
        removals: Vec::new(),
        kept: segments.len(),
        kept_bytes: segments.iter().map(|segment| segment.size).sum(),
    };
    let newest = segments.iter().rfind(|segment| !segment.name.is_solo()).map(|segment| &segment.name);
    let in_use = |name: &Name| {
        Some(name) == current.or(newest) || (name.is_solo() && name.start() + TimeDelta::hours(1) > now)
    };
    for segment in segments.iter().filter(|segment| !in_use(&segment.name)) {
        let why = if is_over(&segment.name, limits, now) {
            Why::Age
        } else if plan.kept_bytes > limits.keep_size {
            Why::Size
        } else {
            continue;
        };
        plan.kept -= 1;
        plan.kept_bytes -= segment.size;
        plan.removals.push(Removal { segment: segment.clone(), why });
    }
    plan
}

/// Whether even the last line that a segment can hold is older than the log is kept.
fn is_over(name: &Name, limits: &config::Log, now: Time) -> bool {
    let end = name.day().succ_opt().map(|next| next.and_time(chrono::NaiveTime::MIN).and_utc());
    let keep = TimeDelta::from_std(limits.keep).ok();
    end.zip(keep).and_then(|(end, keep)| end.checked_add_signed(keep)).is_some_and(|over| over <= now)
}

/// What was deleted.
#[derive(Debug, Default)]
pub struct Pruned {
    /// How many segments.
    pub count: usize,
    /// How many bytes.
    pub bytes: u64,
    /// Segments that could not be deleted.
    pub failures: Vec<Error>,
}

/// Deletes what is planned, but never the segment that is written to by now.
pub fn apply(plan: &Plan, exclusive: &Exclusive) -> Pruned {
    let current = exclusive.current();
    let mut pruned = Pruned::default();
    let removals = plan.removals.iter().map(|removal| &removal.segment);
    for segment in removals.filter(|segment| Some(&segment.name) != current.as_ref()) {
        let path = segment.path(exclusive.dir());
        match std::fs::remove_file(&path) {
            Ok(()) => {
                pruned.count += 1;
                pruned.bytes += segment.size;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => pruned.failures.push(fs::named(error, "delete", &path).into()),
        }
    }
    pruned
}

#[cfg(test)]
mod tests;
