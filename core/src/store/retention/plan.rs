//! Plans which segments to delete, from the limits and from what the recorded runs need. It changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::TimeDelta;

use crate::config;
use crate::store::archive::{Claims, RunRecord};
use crate::store::log::{Contents, Segment, SegmentName};
use crate::sys::clock::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The segments to delete, oldest first.
    pub removals: Vec<Removal>,
    pub kept: usize,
    pub kept_bytes: u64,
    /// How many bytes stay although they exceed the limits, because a run that has not ended needs them, or because they are
    /// not shipped.
    pub held_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub segment: Segment,
    pub why: RemovalReason,
    /// The sessions whose lines are removed; empty if the whole segment is.
    pub only: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalReason {
    /// Its last day is longer ago than the log is kept.
    Age,
    /// All segments together are larger than the log may be.
    Size,
    /// No recorded run needs it.
    Unneeded,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether a run needs it that has not ended, or it is kept until it is shipped.
    pub is_held: bool,
    /// The bytes of each session in it that no recorded run needs.
    pub loose: BTreeMap<String, u64>,
}

/// The segments that no writer appends to: all but the current one, the newest, and solo ones of the last hour, whose writers
/// hold no lock.
pub fn closed<'a>(
    segments: &'a [Segment],
    current: Option<&SegmentName>,
    now: Timestamp,
) -> Vec<&'a Segment> {
    let newest = segments.iter().rfind(|segment| !segment.name.is_single_line()).map(|segment| &segment.name);
    let in_use = |name: &SegmentName| {
        Some(name) == current
            || Some(name) == newest
            || (name.is_single_line() && name.start() + TimeDelta::hours(1) > now)
    };
    segments.iter().filter(|segment| !in_use(&segment.name)).collect()
}

/// Plans what to delete of these segments (oldest first, as [`crate::store::log::list`] gives them). `facts` are asked for only
/// of segments that the bounds may remove: they cost a reading of the segment.
///
/// Segments that a running run needs are kept and do not count. To reduce the size, segments whose lines are all closed into
/// runs are removed first, because nothing is lost with them. Then, if a session without a run takes more than half of the
/// limit, its lines are removed. Then the oldest segments are removed.
pub fn plan(
    segments: &[Segment],
    current: Option<&SegmentName>,
    limits: &config::Log,
    now: Timestamp,
    facts: &mut dyn FnMut(&Segment) -> Facts,
) -> Plan {
    let mut plan = Plan {
        kept: segments.len(),
        kept_bytes: segments.iter().map(|segment| segment.size).sum(),
        ..Plan::default()
    };
    let (over, young): (Vec<&Segment>, Vec<&Segment>) =
        closed(segments, current, now).into_iter().partition(|segment| is_over(&segment.name, limits, now));
    for segment in over {
        match facts(segment).is_held {
            true => plan.held_bytes += segment.size,
            false => {
                plan.kept -= 1;
                plan.kept_bytes -= segment.size;
                let (segment, only) = (segment.clone(), BTreeSet::new());
                plan.removals.push(Removal { segment, why: RemovalReason::Age, only });
            }
        }
    }
    if plan.kept_bytes - plan.held_bytes > limits.keep_size {
        let known = young.into_iter().map(|segment| (segment, facts(segment)));
        let (held, free): (Vec<_>, Vec<_>) = known.partition(|(_, facts)| facts.is_held);
        plan.held_bytes += held.iter().map(|(segment, _)| segment.size).sum::<u64>();
        plan.by_size(&free, limits.keep_size);
    }
    plan.removals.sort_by(|one, other| one.segment.name.cmp(&other.segment.name));
    plan
}

/// The sessions that take more than half of the space each.
fn floods(free: &[(&Segment, Facts)], keep_size: u64) -> BTreeSet<String> {
    let mut sums: BTreeMap<&String, u64> = BTreeMap::new();
    for (session, bytes) in free.iter().flat_map(|(_, facts)| &facts.loose) {
        *sums.entry(session).or_default() += bytes;
    }
    sums.into_iter().filter(|(_, bytes)| *bytes > keep_size / 2).map(|(session, _)| session.clone()).collect()
}

impl Plan {
    /// Removes of these segments, oldest first, until the rest is small enough.
    fn by_size(&mut self, free: &[(&Segment, Facts)], keep_size: u64) {
        let floods = floods(free, keep_size);
        let whole = |(segment, _): &(&'_ Segment, Facts)| ((*segment).clone(), BTreeSet::new(), segment.size);
        let flood = |(segment, facts): &(&'_ Segment, Facts)| {
            let own = facts.loose.iter().filter(|(session, _)| floods.contains(*session));
            let (only, bytes): (BTreeSet<String>, Vec<u64>) =
                own.map(|(session, bytes)| (session.clone(), *bytes)).unzip();
            ((*segment).clone(), only, bytes.iter().sum())
        };
        let is_lossless = |(_, facts): &&(&'_ Segment, Facts)| facts.loose.is_empty();
        let lossless = free.iter().filter(is_lossless).map(whole);
        let others = || free.iter().filter(|one| !is_lossless(one));
        let mut removed: BTreeMap<SegmentName, u64> = BTreeMap::new();
        for (segment, mut only, bytes) in lossless.chain(others().map(flood)).chain(others().map(whole)) {
            let before = removed.get(&segment.name).copied().unwrap_or_default();
            if bytes <= before || self.kept_bytes - self.held_bytes <= keep_size {
                continue;
            }
            if bytes == segment.size {
                only.clear();
                self.kept -= 1;
            }
            self.kept_bytes -= bytes - before;
            removed.insert(segment.name.clone(), bytes);
            self.removals.retain(|removal| removal.segment.name != segment.name);
            self.removals.push(Removal { segment, why: RemovalReason::Size, only });
        }
    }
}

/// Whether even the last line that a segment can hold is older than the log is kept.
fn is_over(name: &SegmentName, limits: &config::Log, now: Timestamp) -> bool {
    let end =
        name.day().succ_opt().map(|next| Timestamp::from(next.and_time(chrono::NaiveTime::MIN).and_utc()));
    let keep = TimeDelta::from_std(limits.keep).ok();
    end.zip(keep).and_then(|(end, keep)| end.checked_add(keep)).is_some_and(|over| over <= now)
}

/// The recorded runs that lines of the log are kept for.
#[derive(Debug)]
pub struct Needs<'a> {
    claims: Claims<'a>,
    /// Runs that have ended, and those whose record cannot be read: their events are closed into them.
    over: BTreeSet<&'a str>,
    running: BTreeSet<&'a str>,
}

impl<'a> Needs<'a> {
    /// The needs of all recorded runs; `damaged` are the names of runs whose `run.json` cannot be read.
    pub fn new(all: &'a [RunRecord], damaged: &'a [String]) -> Needs<'a> {
        // An imported run gets events here only if its session continues here; these are closed into it, too.
        let is_over = |run: &&RunRecord| run.ended_at.is_some() || run.imported.is_some();
        let (over, running): (Vec<&RunRecord>, Vec<&RunRecord>) = all.iter().partition(is_over);
        let mut over: BTreeSet<&str> = over.into_iter().map(|run| run.run.as_str()).collect();
        over.extend(damaged.iter().map(String::as_str));
        let running = running.into_iter().map(|run| run.run.as_str()).collect();
        Needs { claims: Claims::new(all), over, running }
    }

    /// The run that a line is closed into; `None` for a line that no run needs, or whose run has not ended.
    pub(super) fn closes_into(
        &self,
        run: Option<&str>,
        session: Option<&str>,
        at: Timestamp,
    ) -> Option<String> {
        let run = self.claims.run_of(run, session, at)?;
        self.over.contains(run.as_str()).then_some(run)
    }

    /// The facts about a segment for the plan. Its contents are cached beside the segment.
    pub fn facts(&self, log: &Path, segment: &Segment) -> Facts {
        let contents = Contents::cached(log, segment).unwrap_or_else(|| {
            let contents = Contents::of(log, segment, &mut |_| ());
            contents.save(log, segment);
            contents
        });
        self.facts_of(&contents)
    }

    pub fn facts_of(&self, contents: &Contents) -> Facts {
        let mut facts = Facts {
            is_held: contents.runs.iter().any(|run| self.running.contains(run.as_str())),
            ..Facts::default()
        };
        for (session, bytes) in &contents.sessions {
            let runs = self.claims.runs_of(session);
            facts.is_held |= runs.iter().any(|run| self.running.contains(run.run.as_str()));
            if runs.is_empty() {
                facts.loose.insert(session.clone(), *bytes);
            }
        }
        // Runs that were removed, or of which only the name is known.
        let known = |run: &&String| self.over.contains(run.as_str()) || self.running.contains(run.as_str());
        for run in contents.runs.iter().filter(|run| !known(run)) {
            facts.loose.insert(run.clone(), 0);
        }
        facts
    }
}

#[cfg(test)]
mod tests;
