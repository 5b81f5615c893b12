//! Searches all sources in several threads, and passes the hits on in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::document::Kind;
use super::hit::Hit;
use super::merge::Merge;
use super::pattern::Pattern;
use super::scan::{MAX_AGENTS, Scan, Scanned};
use super::sources::{self, Source};
use crate::timeline::RunCatalog;
use teamkeep_core::error::Result;
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::log::Range;
use teamkeep_core::sys::clock::Timestamp;

const MAX_PROBLEMS: usize = 5;

#[derive(Debug)]
pub struct Request<'a> {
    pub pattern: Pattern,
    pub run: Option<&'a RunRecord>,
    /// The names of one agent; empty for all agents.
    pub agents: Vec<String>,
    pub kinds: Vec<Kind>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub limit: usize,
    /// The search stops then, with what it has found.
    pub deadline: Option<Instant>,
}

/// What happens during a search.
#[derive(Debug)]
pub enum Step {
    /// The size of all sources, in bytes.
    Begin(u64),
    /// So many bytes more were searched.
    Read(u64),
    /// The next hit, the newest first.
    Hit(Box<Hit>),
}

#[derive(Debug, Default)]
pub struct Found {
    /// Whether there are more than the limit.
    pub has_more: bool,
    /// Whether the deadline ended the search.
    pub is_late: bool,
    /// Some of the agents with matching texts that are not the requested one.
    pub other_agents: BTreeSet<String>,
    /// Why some sources could not be searched to their end: the first reasons.
    pub problems: Vec<String>,
}

impl Found {
    /// Adds the hits of a source; returns the time before which no hits are needed.
    fn add(&mut self, scanned: Scanned, merge: &mut Merge) -> Option<Timestamp> {
        self.has_more |= scanned.has_more;
        self.other_agents.extend(scanned.other_agents);
        self.problems.extend(scanned.problem);
        merge.add(scanned.hits)
    }
}

/// Searches, and calls `each` for every step until that returns false. Hits have no excerpt and no command yet.
pub fn find(
    catalog: &RunCatalog,
    request: &Request<'_>,
    mut each: impl FnMut(Step) -> Result<bool>,
) -> Result<Found> {
    let sources = sources::list(catalog, Range { since: request.since, until: request.until })?;
    each(Step::Begin(sources.iter().map(|source| source.size).sum()))?;
    let mut merge = Merge::new(request.limit);
    let scan = Scan::new(catalog, request, merge.most);
    let (next, mut found) = (AtomicUsize::new(0), Found::default());
    let threads = thread::available_parallelism().map_or(1, usize::from).min(sources.len());
    let searched = thread::scope(|scope| {
        let (sender, received) = mpsc::sync_channel(threads);
        for _ in 0..threads {
            let (sender, sources, scan, next) = (sender.clone(), &sources, &scan, &next);
            scope.spawn(move || {
                let mut buffer = Vec::new();
                while let Some((place, source)) = take(sources, next)
                    && !scan.is_over()
                    && !scan.is_too_old(source)
                {
                    // Without a receiver, the rest is not needed.
                    if sender.send((place, scan.source(source, &mut buffer))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // In the order of the sources, so that the result does not depend on the threads.
        let (mut early, mut due) = (BTreeMap::new(), 0);
        let result: Result<()> = received.iter().try_for_each(|(place, scanned)| {
            each(Step::Read(sources[place].size))?;
            early.insert(place, scanned);
            while let Some(scanned) = early.remove(&due) {
                due += 1;
                if let Some(floor) = found.add(scanned, &mut merge) {
                    scan.floor.store(floor.millis(), Ordering::Relaxed);
                }
                let until = sources.get(due).and_then(|source| source.until);
                let is_open = until.is_none() || show(&mut merge, until, &mut each)?;
                if merge.is_complete() || !is_open {
                    scan.is_done.store(true, Ordering::Relaxed);
                }
            }
            Ok(())
        });
        // What was found behind a source that was not searched.
        for scanned in early.into_values() {
            found.add(scanned, &mut merge);
        }
        // The threads end with what they are reading.
        scan.is_done.store(true, Ordering::Relaxed);
        drop(received);
        result
    });
    searched?;
    // The rest has no newer hits to wait for.
    show(&mut merge, None, &mut each)?;
    found.has_more |= merge.has_more;
    found.is_late = scan.is_late.into_inner();
    while found.other_agents.len() > MAX_AGENTS {
        found.other_agents.pop_last();
    }
    found.problems.truncate(MAX_PROBLEMS);
    Ok(found)
}

/// Passes the hits on that are not older than `until`; returns whether more are wanted.
fn show(
    merge: &mut Merge,
    until: Option<Timestamp>,
    each: &mut impl FnMut(Step) -> Result<bool>,
) -> Result<bool> {
    for hit in merge.ready(until) {
        if !each(Step::Hit(Box::new(hit)))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The next source that no thread has taken.
fn take<'a>(sources: &'a [Source], next: &AtomicUsize) -> Option<(usize, &'a Source)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    Some((place, sources.get(place)?))
}
