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
