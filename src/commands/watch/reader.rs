//! Reads the run that `watch` shows: once, and again in the background when it has changed.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::Event;
use crate::commands::catalog::{self, catalog, observe};
use crate::status::alive;
use crate::view::size;
use crate::watch::Recording;
use teamkeep_history::timeline::{Fingerprint, OpenedRun, RunCatalog, is_client_gone};
use teamkeep_store::archive::RunRecord;
use teamkeep_store::log::Segment;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::Stamp;
use teamkeep_terminal::Context;

/// The interval for checking the log of a running team.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The interval for checking the other files, and for another team after the run is over.
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

/// A run that was read.
pub type First = (Shown, OpenedRun, Recording);

/// The files of a run, the team's files in Claude Code's directory, and the indexes of all running teams.
type Files = (Fingerprint, Vec<Option<(u64, i64)>>, Vec<(PathBuf, Option<(u64, i64)>)>);

impl Shown {
    pub fn catalog(&self) -> &RunCatalog {
        &self.catalog
    }
}

impl Reader<'_> {
    /// Reads the run that the user named, else the running one that started last, else the last one. If nothing is recorded yet
    /// and the user named no run, returns the error that reports that.
    pub fn first(&self) -> Result<Result<First>> {
        let start = Instant::now();
        let (catalog, run) = self.find()?;
        let Some(run) = run else { return Ok(Err(catalog.empty())) };
        let bytes: u64 = segments(&catalog, &run).iter().map(|segment| segment.size).sum();
        let _progress = self.context.ui.progress(&format!("reading {} of log", size(bytes)), 0);
        self.read(catalog, run, start).map(Ok)
    }

    fn find(&self) -> Result<(RunCatalog, Option<RunRecord>)> {
        let catalog = catalog(self.context)?;
        if self.wanted.is_none() && catalog.runs.is_empty() && catalog.damaged.is_empty() {
            return Ok((catalog, None));
        }
        let run = self.choose(&catalog)?.clone();
        Ok((catalog, Some(run)))
    }

    fn choose<'c>(&self, catalog: &'c RunCatalog) -> Result<&'c RunRecord> {
        match (self.wanted, alive(catalog).last()) {
            (None, Some(last)) => Ok(last),
            (wanted, _) => catalog::find(catalog, wanted.unwrap_or("latest")),
        }
    }

    fn read(&self, catalog: RunCatalog, run: RunRecord, start: Instant) -> Result<First> {
        // Before the read: what arrives meanwhile is a change.
        let (segments, files) = (segments(&catalog, &run), self.files(&catalog, &run));
        let mut opened = catalog.open_runs(&[&run])?;
        let Some(data) = opened.runs.pop() else { return Err(Error::not_found("cannot open the run")) };
        let observed = observe(self.context, &catalog, &data);
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
    /// Waits for the first run if there is none. Ends when the sender of `stop` is dropped.
    pub fn follow(&self, mut shown: Option<Shown>, stop: &Receiver<()>, events: &Sender<Event>) {
        let interval = |shown: &Option<Shown>| if shown.is_some() { POLL_INTERVAL } else { CHECK_INTERVAL };
        while stop.recv_timeout(interval(&shown)) == Err(RecvTimeoutError::Timeout) {
            let new = match &mut shown {
                Some(shown) => self.next(shown),
                None => self.awaited(&mut shown),
            };
            if let Some(new) = new.transpose() {
                let _ = events.send(Event::Recording(new.map(Box::new)));
            }
        }
    }

    /// The first run, once there is one. The board is on the screen, so no progress is shown.
    fn awaited(&self, shown: &mut Option<Shown>) -> Result<Option<Recording>> {
        let start = Instant::now();
        let (catalog, Some(run)) = self.find()? else { return Ok(None) };
        let (new, _, recording) = self.read(catalog, run, start)?;
        *shown = Some(new);
        Ok(Some(recording))
    }

    /// Reads the run, or the next one, if that is due.
    fn next(&self, shown: &mut Shown) -> Result<Option<Recording>> {
        let rested = shown.read.elapsed();
        let may_be_other = shown.is_running || self.wanted.is_none();
        let is_checked = shown.checked.elapsed() >= CHECK_INTERVAL;
        // A crash changes no file.
        let is_gone = is_checked && shown.is_running && is_client_gone(&shown.catalog.archive, &shown.run);
        if !may_be_other || (rested < shown.cost * RESTS && !is_gone) {
            return Ok(None);
        }
        let has_new_lines = shown.is_running && segments(&shown.catalog, &shown.run) != shown.segments;
        if !has_new_lines && !is_checked {
            return Ok(None);
        }
        shown.checked = Instant::now();
        let files = self.files(&shown.catalog, &shown.run);
        let is_judged_again = shown.is_running && rested >= JUDGE_INTERVAL.max(shown.cost * IDLE_RESTS);
        if files == shown.files && !is_judged_again && !is_gone {
            return Ok(None);
        }
        let start = Instant::now();
        let catalog = catalog(self.context)?;
        let run = if shown.is_running { catalog.find(&shown.run.run)? } else { self.choose(&catalog)? };
        if !shown.is_running && run.run == shown.run.run {
            shown.files = files;
            return Ok(None);
        }
        let run = run.clone();
        let (new, _, recording) = self.read(catalog, run, start)?;
        *shown = new;
        Ok(Some(recording))
    }

    fn files(&self, catalog: &RunCatalog, run: &RunRecord) -> Files {
        let index = run.subject().and_then(|subject| catalog.archive.index(&subject));
        let client = run.client_dir(self.context.paths.client.as_deref());
        let stamp = |path: &Path| {
            let stamp = Stamp::of(&path.symlink_metadata().ok()?);
            Some((stamp.size, stamp.modified))
        };
        let paths = index.iter().flat_map(|index| index.files.keys());
        let files = paths.map(|path| stamp(&client.as_ref()?.join(path))).collect();
        let indexes = catalog.archive.index_files().into_iter();
        let indexes = indexes.map(|path| (path.clone(), stamp(&path))).collect();
        (catalog.fingerprint(run), files, indexes)
    }
}

/// The segments of the run's log, whose sizes show new events.
fn segments(catalog: &RunCatalog, run: &RunRecord) -> Vec<Segment> {
    catalog.logs.run(&run.run).and_then(|log| log.segments().ok()).unwrap_or_default()
}
