//! The selection of data to send: the logs of projects that `ship.exclude-projects` does not name, and ended runs.

use crate::part::RoundOutcome;
use crate::setup::Setup;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use teamkeep_history::timeline::RunCatalog;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::log::EventLog;
use teamkeep_store::shipping::{Destination, RunDelivery, ShippingState};
use teamkeep_system::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusion {
    /// Its data counts as sent.
    Excluded,
    /// It cannot be read now.
    Unknown,
}

/// The logs of which nothing is sent, by the ID of the run, or `session-` and that of the session.
#[derive(Debug, Default)]
pub struct ExcludedLogs(BTreeMap<String, Exclusion>);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    payload: Payload,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    cwd: Option<String>,
}

impl ExcludedLogs {
    /// A log belongs to the project of its first event that has a directory: later ones can be in others, such as those of subagents. A run
    /// of which a session is excluded is excluded.
    pub fn of(setup: &Setup, round: &mut RoundOutcome) -> Result<ExcludedLogs> {
        let (ship, home) = (&setup.context.config.ship, setup.context.env.home.as_deref());
        let mut excluded = ExcludedLogs::default();
        if ship.exclude_projects.is_empty() {
            return Ok(excluded);
        }
        for log in setup.logs().all()? {
            let id = log.owner.to_string();
            match directory(&log) {
                Ok(Some(dir)) if ship.excludes(Path::new(&dir), home) => {
                    excluded.0.insert(id, Exclusion::Excluded);
                }
                Ok(_) => {}
                Err(error) => {
                    let error = Error::caused(format!("{id} was not sent: cannot find its project"), error);
                    round.errors.push(error);
                    excluded.0.insert(id, Exclusion::Unknown);
                }
            }
        }
        for run in setup.catalog().runs {
            let sessions: BTreeSet<String> =
                run.sessions.iter().map(|session| format!("session-{}", session.id)).collect();
            let of_sessions = sessions.iter().find_map(|session| excluded.get(session));
            if let Some(exclusion) = of_sessions {
                excluded.0.entry(run.run).or_insert(exclusion);
            }
        }
        Ok(excluded)
    }

    pub fn get(&self, log: &str) -> Option<Exclusion> {
        self.0.get(log).copied()
    }
}

fn directory(log: &EventLog) -> io::Result<Option<String>> {
    for segment in log.segments()? {
        for line in BufReader::new(segment.bytes()?).split(b'\n') {
            let line: Option<Line> = serde_json::from_slice(&line?).ok();
            if let Some(dir) = line.and_then(|line| line.payload.cwd) {
                return Ok(Some(dir));
            }
        }
    }
    Ok(None)
}

// The ended runs that a destination does not have, and how much data they have, so that the memory for opening one is bounded.

/// A run with more data is not opened: it would take more than 256 MiB of memory.
pub const MAX_RUN_BYTES: u64 = 512 << 20;

/// The ended runs that are to be sent to a destination, oldest first.
pub fn unsent_runs<'a>(
    catalog: &'a RunCatalog,
    state: &ShippingState,
    destination: &Destination,
) -> Vec<&'a RunRecord> {
    let is_complete = |run: &RunRecord| run.finished && !catalog.archive.is_unfinished(&run.run);
    let lacks =
        |run: &&RunRecord| state.delivery(destination, run) == RunDelivery::Unsent && is_complete(run);
    catalog.runs.iter().filter(lacks).collect()
}

/// The size of the transcripts and journals of a run, and the weight of its events, in bytes.
pub fn run_size(catalog: &RunCatalog, run: &RunRecord) -> Result<u64> {
    let size = |path: &Path| path.symlink_metadata().map_or(0, |metadata| metadata.len());
    let dir = catalog.archive.run_dir(&run.run);
    let files = dir.and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten().flatten();
    // Events count by their weight.
    let files = files.filter(|file| !file.file_name().as_encoded_bytes().starts_with(b"events"));
    let transcripts = catalog.archive.longest_transcripts(run);
    let transcripts = transcripts
        .iter()
        .map(|(path, kept)| kept.as_ref().map_or_else(|| size(Path::new(path)), |kept| kept.size));
    let events = catalog.weigh_events(&[run])?.into_values();
    Ok(files.map(|file| size(&file.path())).chain(transcripts).chain(events).fold(0, u64::saturating_add))
}

/// Why a run is not sent, with the size of its data in bytes.
pub fn too_large_note(run: &RunRecord, size: u64) -> String {
    let (id, size, most) = (&run.run, size.div_ceil(1 << 20), MAX_RUN_BYTES >> 20);
    format!("run {id} is too large to send: its data counts as {size} MiB; the limit is {most} MiB")
}
