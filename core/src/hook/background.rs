//! Work after the end of a run: copies transcripts into the archive and events into the run. A separate process does it, so
//! that it does not delay SessionEnd, which has 1.5 seconds for all its hooks.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use super::Recorder;
use super::command_line::FINISH;
use crate::config::{Config, Files};
use crate::error::Result;
use crate::store::archive::{Archive, EndedBy, RunRecord};
use crate::store::log::{self, Contents, Range};
use crate::store::retention::{self, Facts, Needs, Recording, RetentionLock};
use crate::store::shipping::{Shipping, UnshippedSegments};
use crate::sys::clock::{Clock, Timestamp};
use crate::sys::env::Env;
use crate::sys::paths::{PARTS, Paths};
use crate::sys::{diagnostics, fs, process};

/// How long the detached process waits for Claude Code to write its last lines and exit.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A run without a team and without an index is closed when it began longer ago.
const MAX_UNSEEN: Duration = Duration::from_secs(86_400);
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishStart {
    /// Claude Code's process, if it is about to exit.
    pub client: Option<u32>,
    /// Whether no session ends at this call, so that a session that ends elsewhere has its own process.
    pub in_session: bool,
}

impl Recorder {
    /// Whether there is work: transcripts of an ended run, or a log that was not pruned for a day.
    pub(super) fn has_left(&self, archive: &Archive) -> bool {
        let pruned = std::fs::metadata(self.pruned()).and_then(|metadata| metadata.modified());
        let is_due = pruned.map_or(true, |time| time.elapsed().is_ok_and(|age| age > PRUNE_EVERY));
        archive.has_unfinished() || archive.has_endings() || is_due
    }

    /// The file whose modification time is the time of the last prune.
    pub(super) fn pruned(&self) -> PathBuf {
        self.paths.log().join(".pruned")
    }

    pub(super) fn finish_later(&self, started: FinishStart) -> io::Result<()> {
        if self.finish == BackgroundMode::Inline {
            let notes = [finish(self, FinishStart { client: None, ..started }), prune(self)].concat();
            return if notes.is_empty() { Ok(()) } else { Err(io::Error::other(notes.join("; "))) };
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(FINISH);
        if let Some(pid) = started.client {
            command.arg("--after").arg(pid.to_string());
        }
        if started.in_session {
            command.arg("--beside");
        }
        process::start(&mut command)
    }
}

/// The work of a background process: [`finish`], then pruning and shipping. With an invalid configuration it does not prune:
/// the limits may not be the user's.
pub fn finish_in_background(started: FinishStart) -> ExitCode {
    // The session comes first. Without permission to change it, the priority stays.
    let _ = rustix::process::nice(10);
    let env = Env::read();
    let paths = Paths::find(&env);
    if paths.check().is_err() {
        return ExitCode::FAILURE;
    }
    let clock = Clock::new(env.now.as_deref());
    let (config, problem) = Config::load(&Files::find(&paths, None));
    let recorder =
        Recorder { env, paths, config, problems: Vec::new(), clock, finish: BackgroundMode::Detached };
    let mut notes = finish(&recorder, started);
    match problem {
        Some(problem) => notes.push(format!("nothing was pruned: {problem}")),
        None => {
            notes.extend(prune(&recorder));
            notes.extend(recorder.ship());
        }
    }
    if notes.is_empty() {
        return ExitCode::SUCCESS;
    }
    diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    ExitCode::FAILURE
}

/// Archives the transcripts of ended runs and copies their events into them. Returns the problems. Skips runs that another
/// process waits for, unless this process ends a session whose Claude Code process is unknown: that run may be its own.
pub fn finish(recorder: &Recorder, started: FinishStart) -> Vec<String> {
    if recorder.finish == BackgroundMode::Detached {
        // Start a new session: Claude Code's terminal and process group may end at any time.
        let _ = rustix::process::setsid();
    }
    let archive = recorder.archive();
    archive.close_pending_runs(recorder.config.log.lock_patience);
    let (mut notes, _) = archive_transcripts(&archive, |_| false);
    for part in PARTS.iter().map(|part| recorder.paths.store.join(part)) {
        fs::remove_old_drafts(&part, LEFTOVER_AGE);
        fs::remove_old_drafts_of(&part, LEFTOVER_AGE);
    }
    if let Some(pid) = started.client {
        let start = Instant::now();
        while start.elapsed() < TIMEOUT && !process::is_gone(pid, None, None) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    archive.close_pending_runs(recorder.config.log.lock_patience);
    let now = recorder.clock.now();
    let closed = archive.close_runs_without_index(|run| is_over_without_index(recorder, &archive, run));
    notes.extend(closed.err().map(|error| format!("cannot close a run without an index: {error}")));
    let yields = started.in_session || started.client.is_some();
    let (mut more, ended) =
        archive_transcripts(&archive, |run| !(yields && belongs_to_other(run, started.client, now)));
    more.retain(|note| !notes.contains(note));
    notes.append(&mut more);
    if !ended.is_empty() && recorder.config.ship.is_configured() {
        // A shipper that began meanwhile may not have seen these runs.
        let requested = Shipping::of(&recorder.paths).request();
        notes.extend(requested.err().map(|error| format!("cannot request shipping: {error}")));
    }
    if let Err(error) = close_events(recorder, &archive, &ended) {
        notes.push(format!("cannot copy the events of ended runs from the log into the runs: {error}"));
    }
    notes
}

/// Whether a run that no index names has ended. If not, its next hook call opens it again.
fn is_over_without_index(recorder: &Recorder, archive: &Archive, run: &RunRecord) -> bool {
    let Some(subject) = run.subject() else { return false };
    if !run.client_pid.is_none_or(|pid| process::is_gone(pid, None, None)) {
        return false;
    }
    let Some(team) = subject.team() else {
        // Nothing else shows the end of a session without a team.
        return (recorder.clock.now() - run.started_at).to_std().is_ok_and(|age| age > MAX_UNSEEN);
    };
    let client = run.client_dir(recorder.paths.client_for(None).as_deref());
    // A configuration directory that does not exist here shows nothing.
    let is_gone = |client: PathBuf| {
        let dir = client.join("teams").join(team).symlink_metadata();
        dir.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) && client.exists()
    };
    let last = archive.index(&subject).and_then(|index| archive.run(&index.run));
    client.is_some_and(is_gone) || last.is_some_and(|last| last.started_at > run.started_at)
}

/// Whether the process started by this run's SessionEnd still waits. Two may run when one session ends as another begins.
fn belongs_to_other(run: &RunRecord, after: Option<u32>, now: Timestamp) -> bool {
    let ended = run.ended_at;
    let lately = || ended.is_some_and(|end| (now - end).abs().to_std().is_ok_and(|age| age < TIMEOUT));
    run.ended_by == Some(EndedBy::SessionEnd)
        && run.client_pid.is_some_and(|pid| after != Some(pid) && !process::is_gone(pid, None, None))
        && lately()
}

/// Archives the transcripts of unfinished runs, finally if `last` is true. Returns the problems and the finished runs.
fn archive_transcripts(
    archive: &Archive,
    last: impl Fn(&RunRecord) -> bool,
) -> (Vec<String>, BTreeSet<String>) {
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
const MAX_READ_BYTES: u64 = 512 << 20;

/// Uses up bytes, if any are left.
fn use_up(left: &mut u64, bytes: u64) -> bool {
    let has_left = *left > 0;
    *left = left.saturating_sub(bytes);
    has_left
}

/// Copies the events of these runs from the log into them. If that fails, it is done before their segments are removed.
fn close_events(recorder: &Recorder, archive: &Archive, runs: &BTreeSet<String>) -> Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let (log, patience) = (recorder.paths.log(), recorder.config.log.lock_patience);
    let Some(lock) = RetentionLock::take(&log, patience)? else { return Ok(()) };
    let (all, damaged) = archive.runs();
    let own: Vec<_> = all.iter().filter(|run| runs.contains(&run.run)).collect();
    let since = own.iter().map(|run| run.started_at).min();
    let sessions: BTreeSet<&str> =
        own.iter().flat_map(|run| &run.sessions).map(|session| session.id.as_str()).collect();
    let needs = Needs::new(&all, &damaged);
    let has_events = |contents: Contents| {
        contents.runs.iter().any(|run| runs.contains(run))
            || contents.sessions.keys().any(|session| sessions.contains(session.as_str()))
    };
    let mut left = MAX_READ_BYTES;
    for segment in log::list(lock.log())?.iter().rev() {
        let may_have_events = || Contents::cached(lock.log(), segment).is_none_or(has_events);
        if !(Range { since, until: None }).overlaps(&segment.name) || !may_have_events() {
            continue;
        }
        if !use_up(&mut left, segment.size) {
            break;
        }
        retention::close(lock.log(), &segment.name, archive, &needs, Some(runs)).map(drop)?;
    }
    Ok(())
}

/// Removes segments by age and size, but no line that a recorded run needs; returns what went wrong.
pub fn prune(recorder: &Recorder) -> Vec<String> {
    try_prune(recorder).unwrap_or_else(|error| vec![error.to_string()])
}

fn try_prune(recorder: &Recorder) -> Result<Vec<String>> {
    fs::write_atomic(&recorder.pruned(), b"")?;
    let limits = &recorder.config.log;
    let Some(lock) = RetentionLock::take(&recorder.paths.log(), limits.lock_patience)? else {
        return Ok(Vec::new());
    };
    let (log, archive) = (lock.log(), recorder.archive());
    if let Some(why) = archive.why_unlisted() {
        return Ok(vec![format!("nothing was pruned: {why}")]);
    }
    let (all, damaged) = archive.runs();
    let needs = Needs::new(&all, &damaged);
    let segments = log::list(log)?;
    Contents::sweep(log, &segments);
    let current = log::active_segment(log);
    let (shipping, now) = (Shipping::of(&recorder.paths), recorder.clock.now());
    let unshipped = UnshippedSegments::find(&shipping, &recorder.config.ship, now)?;
    let (mut left, mut is_whole, mut unshipped_bytes) = (MAX_READ_BYTES, true, 0);
    let mut facts = |segment: &log::Segment| {
        if unshipped.kept.contains(&segment.name) {
            unshipped_bytes += segment.size;
            return Facts { is_held: true, ..Facts::default() };
        }
        if Contents::cached(log, segment).is_none() && !use_up(&mut left, segment.size) {
            // Not read yet, so it is kept.
            is_whole = false;
            return Facts { is_held: true, ..Facts::default() };
        }
        needs.facts(log, segment)
    };
    let mut plan = retention::plan(&segments, current.as_ref(), limits, now, &mut facts);
    let mut room = MAX_READ_BYTES;
    plan.removals.retain(|removal| use_up(&mut room, removal.segment.size));
    let recording = Recording { at: now, patience: limits.lock_patience };
    let adopted = recording.adopt_single_lines(log);
    let pruned = retention::apply(&plan, &archive, &needs, &lock, &recording)?;
    let mut notes: Vec<String> = pruned.failures.iter().map(ToString::to_string).collect();
    let failed = |error| format!("cannot record the lines that were written without the log's lock: {error}");
    notes.extend(adopted.err().map(failed));
    let removed: Vec<_> = plan.removals.iter().map(|removal| &removal.segment).collect();
    if let Some(removed) = unshipped.note_removed(&shipping, &removed, now)? {
        notes.push(format!(
            "{} MiB of the log were removed before they were shipped: ship.keep-unshipped has no room for them",
            mebibytes(removed.bytes)
        ));
    }
    if is_whole && plan.kept_bytes > limits.keep_size {
        let whys = [
            (plan.held_bytes - unshipped_bytes, "belong to runs that have not ended and are kept until then"),
            (unshipped_bytes, "are not shipped and are kept until then"),
        ];
        let held = whys.into_iter().filter(|(bytes, _)| *bytes > 0);
        let held: Vec<String> = held.map(|(bytes, why)| format!("{} MiB {why}", mebibytes(bytes))).collect();
        if !held.is_empty() {
            let [all, limit] = [plan.kept_bytes, limits.keep_size].map(mebibytes);
            let log = log.display();
            notes.push(format!(
                "{log} has {all} MiB, more than log.keep-size ({limit} MiB): {}",
                held.join(", and ")
            ));
        }
    }
    Ok(notes)
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}
