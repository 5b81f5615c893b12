//! Reads the run that `watch` shows: once, and again in the background when it has changed.

use std::io::{PipeWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::commands::catalog::catalog;
use crate::context::Context;
use crate::status::{Observation, Surroundings, alive};
use crate::timeline::{Fingerprint, OpenedRun, RunCatalog, is_client_gone};
use crate::watch::Recording;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::log::{self, Segment};

/// The interval for checking the log.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The interval for checking the other files of a running team: inboxes and transcripts are not in the log.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The shortest interval for judging an unchanged run again: an incident can begin because nothing happens.
const JUDGE_INTERVAL: Duration = Duration::from_secs(10);
/// After each read, the next one waits this many times its duration; this many more if nothing has changed.
const RESTS: u32 = 4;
const IDLE_RESTS: u32 = 200;

#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub context: &'a Context,
    /// The run that the user named.
    pub wanted: Option<&'a str>,
}

/// Ends the background work.
#[derive(Debug, Default)]
pub struct Stop {
    is_set: Mutex<bool>,
    changed: Condvar,
}

/// Sets [`Stop`] when it is dropped.
pub struct StopGuard<'a>(&'a Stop);

impl Stop {
    pub fn guard(&self) -> StopGuard<'_> {
        StopGuard(self)
    }

    /// Waits so long. Returns whether to stop.
    fn wait(&self, time: Duration) -> bool {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_set, time, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        *self.0.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

/// The last read, and the state of the files then, which shows whether the run has changed.
pub struct Shown {
    catalog: RunCatalog,
    run: RunRecord,
    is_running: bool,
    segments: Vec<Segment>,
    files: Files,
    read: Instant,
    checked: Instant,
    cost: Duration,
}

/// Sizes and times of the files of a run that are not in the log.
#[derive(PartialEq, Eq)]
struct Files {
    run: Fingerprint,
    /// The team's files in Claude Code's directory.
    team: Vec<Option<(u64, i64, i64)>>,
    is_client_gone: bool,
}

impl Shown {
    pub fn catalog(&self) -> &RunCatalog {
        &self.catalog
    }
}

impl Reader<'_> {
    /// Reads the run that the user named, else the running one that started last, else the last one.
    pub fn first(&self) -> Result<(Shown, OpenedRun, Recording)> {
        let start = Instant::now();
        let catalog = catalog(self.context)?;
        let run = self.choose(&catalog)?.clone();
        self.read(catalog, run, start)
    }

    fn choose<'c>(&self, catalog: &'c RunCatalog) -> Result<&'c RunRecord> {
        match (self.wanted, alive(catalog).last()) {
            (None, Some(last)) => Ok(last),
            (wanted, _) => catalog.find(wanted.unwrap_or("latest")),
        }
    }

    fn read(
        &self,
        catalog: RunCatalog,
        run: RunRecord,
        start: Instant,
    ) -> Result<(Shown, OpenedRun, Recording)> {
        // Before the read: what arrives meanwhile is a change.
        let segments = self.segments();
        let files = self.files(&catalog, &run);
        let mut opened = catalog.open_runs(&[&run])?;
        let Some(data) = opened.runs.pop() else { return Err(Error::not_found("cannot open the run")) };
        let (paths, config) = (&self.context.paths, &self.context.config);
        let around = Surroundings { archive: &catalog.archive, paths, config };
        let observed = Observation::of(&data, around, self.context.clock.now());
        let others = alive(&catalog).iter().filter(|other| other.run != run.run).count();
        let recording = Recording::new(data, observed, others);
        let shown = Shown {
            is_running: recording.is_running(),
            catalog,
            run,
            segments,
            files,
            read: Instant::now(),
            checked: Instant::now(),
            cost: start.elapsed(),
        };
        Ok((shown, opened, recording))
    }

    /// Reads the run again when it has changed, until it is over; and another one, if it starts and none was named.
    /// Each recording that is sent is followed by a byte in `wake`.
    pub fn follow(
        &self,
        mut shown: Shown,
        stop: &Stop,
        news: &Sender<Result<Recording>>,
        mut wake: PipeWriter,
    ) {
        while !stop.wait(POLL_INTERVAL) {
            let Some(new) = self.next(&mut shown).transpose() else { continue };
            if news.send(new).is_err() || wake.write_all(b"\n").is_err() {
                return;
            }
        }
    }

    /// Reads the run, or the next one, if that is due.
    fn next(&self, shown: &mut Shown) -> Result<Option<Recording>> {
        let is_due = if shown.is_running { self.has_changed(shown) } else { self.may_have_new_team(shown) };
        if !is_due {
            return Ok(None);
        }
        let start = Instant::now();
        let catalog = catalog(self.context)?;
        let run = if shown.is_running { catalog.find(&shown.run.run)? } else { self.choose(&catalog)? };
        if !shown.is_running && run.run == shown.run.run {
            return Ok(None);
        }
        let run = run.clone();
        let (new, _, recording) = self.read(catalog, run, start)?;
        *shown = new;
        Ok(Some(recording))
    }

    fn has_changed(&self, shown: &mut Shown) -> bool {
        let rested = shown.read.elapsed();
        if rested < shown.cost * RESTS {
            return false;
        }
        if self.segments() != shown.segments || rested >= JUDGE_INTERVAL.max(shown.cost * IDLE_RESTS) {
            return true;
        }
        if shown.checked.elapsed() < CHECK_INTERVAL {
            return false;
        }
        shown.checked = Instant::now();
        self.files(&shown.catalog, &shown.run) != shown.files
    }

    /// Whether a team may have started since a run that is over was read.
    fn may_have_new_team(&self, shown: &mut Shown) -> bool {
        if self.wanted.is_some() || shown.checked.elapsed() < CHECK_INTERVAL {
            return false;
        }
        shown.checked = Instant::now();
        let segments = self.segments();
        let has_events = segments != shown.segments;
        shown.segments = segments;
        has_events
    }

    fn segments(&self) -> Vec<Segment> {
        log::list(&self.context.paths.log()).unwrap_or_default()
    }

    fn files(&self, catalog: &RunCatalog, run: &RunRecord) -> Files {
        let index = run.subject().and_then(|subject| catalog.archive.index(&subject));
        let client = self.context.paths.client.as_deref();
        let stamp = |path: &String| {
            let there = client?.join(path).symlink_metadata().ok()?;
            Some((there.size(), there.mtime(), there.mtime_nsec()))
        };
        let paths = index.iter().flat_map(|index| index.files.keys());
        Files {
            run: catalog.fingerprint(run),
            team: paths.map(stamp).collect(),
            is_client_gone: is_client_gone(&catalog.archive, run),
        }
    }
}
