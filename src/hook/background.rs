//! Work after the end of a run: copies transcripts into the archive and events into the run. A separate process does it, so
//! that it does not delay SessionEnd, which has 1.5 seconds for all its hooks.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Recorder;
use crate::archive::{Archive, EndedBy, RunRecord};
use crate::clock::{self, Time};
use crate::error::Result;
use crate::log::{self, Contents, Range};
use crate::retention::{self, Facts, Needs, RetentionLock};
use crate::{fs, process};

/// How long the detached process waits for Claude Code to write its last lines and exit.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often the log is pruned if no run ends.
const PRUNE_EVERY: Duration = Duration::from_secs(86_400);

/// Minimum age of temporary files to remove, which killed writers left behind.
const LEFTOVER_AGE: Duration = Duration::from_secs(3_600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundMode {
    /// A detached process, which outlives Claude Code.
    Detached,
    /// The call itself, for the demo.
    Inline,
}

impl Recorder {
    /// Whether there is work: transcripts of an ended run, or a log that was not pruned for a day.
    pub(super) fn has_left(&self, archive: &Archive) -> bool {
        let pruned = std::fs::metadata(self.pruned()).and_then(|metadata| metadata.modified());
        let due = || pruned.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > PRUNE_EVERY));
        archive.has_unfinished() || archive.has_endings() || !self.pruned().exists() || due()
    }

    /// The file whose modification time is the time of the last prune.
    pub(super) fn pruned(&self) -> PathBuf {
        self.paths.log().join(".pruned")
    }

    /// Starts the remaining work. `client` is Claude Code's process if it is about to exit. `beside` means that no
    /// session ends at this call, so that a session that ends elsewhere has its own process.
    pub(super) fn finish_later(&self, client: Option<u32>, beside: bool) -> io::Result<()> {
        if self.finish == BackgroundMode::Inline {
            let notes = [finish(self, None, beside), super::prune(self)].concat();
            return if notes.is_empty() { Ok(()) } else { Err(io::Error::other(notes.join("; "))) };
        }
        let mut command = Command::new(std::env::current_exe()?);
        // No process group: a group leader cannot call `setsid`, which is the first thing that the process does.
        command.arg("finish").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(pid) = client {
            command.arg("--after").arg(pid.to_string());
        }
        if beside {
            command.arg("--beside");
        }
        command.spawn().map(|_| ())
    }
}

/// Archives the transcripts of ended runs and copies their events into them. Returns the problems. Skips runs that
/// another process is waiting for, unless this process ends a session whose Claude Code process is unknown: that run
/// may be its own.
pub fn finish(recorder: &Recorder, after: Option<u32>, beside: bool) -> Vec<String> {
    if recorder.finish == BackgroundMode::Detached {
        // Start a new session: Claude Code's terminal and process group may end at any time.
        let _ = rustix::process::setsid();
    }
    let archive = recorder.archive();
    archive.settle(recorder.config.log.lock_patience);
    let (mut notes, _) = keep(&archive, |_| false);
    for part in recorder.paths.parts() {
        fs::remove_temp_files(&part, LEFTOVER_AGE);
        fs::sweep_beside(&part, LEFTOVER_AGE);
    }
    if let Some(pid) = after {
        let pause = Duration::from_millis(50);
        let mut waited = Duration::ZERO;
        while waited < TIMEOUT && !process::is_gone(pid, None, None) {
            std::thread::sleep(pause);
            waited += pause;
        }
    }
    archive.settle(recorder.config.log.lock_patience);
    let now = recorder.clock.now();
    let yields = beside || after.is_some();
    let (more, ended) = keep(&archive, |run| !(yields && belongs_to_other(run, after, now)));
    for note in more {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.extend(close_events(recorder, &archive, &ended));
    notes
}

/// Whether the process started by this run's SessionEnd is still waiting for the last lines. Two such processes may run
/// when one session ends as another begins.
fn belongs_to_other(run: &RunRecord, after: Option<u32>, now: Time) -> bool {
    let ended = run.ended_at.as_deref().and_then(clock::parse);
    let lately = || ended.is_some_and(|end| (now - end).abs().to_std().is_ok_and(|age| age < TIMEOUT));
    run.ended_by == Some(EndedBy::SessionEnd)
        && run.client_pid.is_some_and(|pid| after != Some(pid) && !process::is_gone(pid, None, None))
        && lately()
}

/// Archives the current transcripts of unfinished runs, for the last time if `last` returns true. Returns the problems
/// and the finished runs.
fn keep(archive: &Archive, last: impl Fn(&RunRecord) -> bool) -> (Vec<String>, BTreeSet<String>) {
    let (mut notes, mut finished) = (Vec::new(), BTreeSet::new());
    for run in archive.unfinished() {
        match archive.keep_transcripts(&run) {
            Ok((_, problems)) => notes.extend(problems),
            Err(error) => {
                notes.push(format!("cannot keep the transcripts of run {}: {error}", run.run));
                continue;
            }
        }
        if last(&run) {
            if let Err(error) = archive.compress(&run) {
                notes.push(format!("cannot compress the contents of run {}: {error}", run.run));
            }
            match archive.mark_finished(&run) {
                Ok(()) => drop(finished.insert(run.run)),
                Err(error) => notes.push(format!("cannot finish run {}: {error}", run.run)),
            }
        }
    }
    (notes, finished)
}

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
