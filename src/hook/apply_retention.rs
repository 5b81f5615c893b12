//! Retention: copies the events of ended runs into these runs, and keeps the log within its limits.

use std::collections::BTreeSet;
use std::path::Path;

use super::Recorder;
use crate::archive::Archive;
use crate::clock;
use crate::error::Result;
use crate::fs;
use crate::log::{self, Contents, Range};
use crate::retention::{self, Facts, Needs, RetentionLock};

/// Maximum number of bytes of the log to read in one call. The next call continues.
const AT_ONCE: u64 = 512 << 20;

/// Copies the events of these runs from the log into them. If that is not possible now, because another process does it or
/// the disk fails, it is done before their segments are removed. Returns what went wrong.
pub(super) fn close_events(recorder: &Recorder, archive: &Archive, runs: &BTreeSet<String>) -> Vec<String> {
    if runs.is_empty() {
        return Vec::new();
    }
    let log = recorder.paths.log();
    let close = || -> Result<()> {
        let Some(right) = RetentionLock::take(&log, recorder.config.log.lock_patience)? else {
            return Ok(());
        };
        let (all, damaged) = archive.runs();
        let own: Vec<_> = all.iter().filter(|run| runs.contains(&run.run)).collect();
        let since = own.iter().filter_map(|run| clock::parse(&run.started_at)).min();
        let sessions: BTreeSet<&str> =
            own.iter().flat_map(|run| &run.sessions).map(|session| session.id.as_str()).collect();
        let needs = Needs::new(&all, &damaged);
        let mut left = AT_ONCE;
        for segment in log::list(right.log())?.iter().rev() {
            let holds = |contents: Contents| {
                contents.runs.iter().any(|run| runs.contains(run))
                    || contents.sessions.keys().any(|session| sessions.contains(session.as_str()))
            };
            let is_known_without = || Contents::kept(right.log(), segment).is_some_and(|known| !holds(known));
            if !(Range { since, until: None }).overlaps(&segment.name) || is_known_without() {
                continue;
            }
            if left == 0 {
                break;
            }
            left = left.saturating_sub(segment.size);
            retention::close(right.log(), &segment.name, archive, &needs, Some(runs))?;
        }
        Ok(())
    };
    match close() {
        Ok(()) => Vec::new(),
        Err(error) => {
            vec![format!("cannot copy the events of ended runs from the log into the runs: {error}")]
        }
    }
}

/// Removes segments by age and size, but no line that a recorded run needs; returns what went wrong.
pub fn prune(recorder: &Recorder) -> Vec<String> {
    let pruned = || -> Result<Vec<String>> {
        fs::write_atomic(&recorder.pruned(), b"", false)?;
        let log = recorder.paths.log();
        match RetentionLock::take(&log, recorder.config.log.lock_patience)? {
            Some(right) => keep_to_bounds(recorder, &right),
            None => Ok(Vec::new()),
        }
    };
    pruned().unwrap_or_else(|error| vec![error.to_string()])
}

fn keep_to_bounds(recorder: &Recorder, right: &RetentionLock) -> Result<Vec<String>> {
    let (log, limits) = (right.log(), &recorder.config.log);
    let archive = recorder.archive();
    if let Some(why) = archive.why_unlisted() {
        return Ok(vec![format!("nothing was pruned: {why}")]);
    }
    let (all, damaged) = archive.runs();
    let needs = Needs::new(&all, &damaged);
    let segments = log::list(log)?;
    Contents::sweep(log, &segments);
    let current = log::active_segment(log);
    let (mut left, mut is_whole) = (AT_ONCE, true);
    let mut facts = |segment: &log::Segment| {
        if Contents::kept(log, segment).is_none() {
            if left == 0 {
                // Not read yet, so it is kept.
                is_whole = false;
                return Facts { is_held: true, ..Facts::default() };
            }
            left = left.saturating_sub(segment.size);
        }
        needs.facts(log, segment, true, &mut |_| ())
    };
    let mut plan = retention::plan(&segments, current.as_ref(), limits, recorder.clock.now(), &mut facts);
    let mut room = AT_ONCE;
    plan.removals.retain(|removal| {
        let fits = room > 0;
        room = room.saturating_sub(removal.segment.size);
        fits
    });
    let pruned = retention::apply(&plan, &archive, &needs, right, limits.lock_patience)?;
    let mut notes: Vec<String> = pruned.failures.iter().map(ToString::to_string).collect();
    if is_whole && plan.held_bytes > 0 && plan.kept_bytes > limits.keep_size {
        notes.push(held(log, plan.kept_bytes, plan.held_bytes, limits.keep_size));
    }
    Ok(notes)
}

/// The note that the log is larger than its limit because of running runs.
fn held(log: &Path, all: u64, held: u64, most: u64) -> String {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    format!(
        "{} has {} MiB, more than log.keep-size ({} MiB): {} MiB belong to runs that have not ended and are kept until then",
        log.display(),
        mib(all),
        mib(most),
        mib(held)
    )
}
