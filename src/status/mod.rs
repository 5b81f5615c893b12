//! The status of running teams, and the size of the recorded data.
//!
//! [`Status`] is built from the timelines of the running teams. [`Brief`] is one line for Claude Code's status line,
//! from the last snapshots and the policy's counts, without opening a timeline.

mod status_line;
mod store_stats;
mod team;

use serde::Serialize;

pub use status_line::{StatusLine, Wanted};
pub use store_stats::StoreStats;
pub use team::{Item, Member, TeamStatus};

use crate::archive::{Archive, RunRecord};
use crate::clock::{self, Time};
use crate::enforcement::Overrides;
use crate::timeline::{OpenedRun, RunCatalog, is_client_gone, merge};

/// The output of `status --json`.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Version of the format: 1.
    pub v: u8,
    /// The time of the status, RFC 3339.
    pub at: String,
    /// The running teams, oldest first.
    pub teams: Vec<TeamStatus>,
    /// The active pauses and allowances.
    pub overrides: Overrides,
    /// The size of the recorded data.
    pub record: StoreStats,
}

/// The runs of teams without a recorded end whose Claude Code process is not known to be gone. A run without any
/// session is left out: 2.1.328 creates a team that it never uses when it resumes a session.
pub fn alive(library: &RunCatalog) -> Vec<&RunRecord> {
    library.runs.iter().filter(|run| is_alive(&library.archive, run)).collect()
}

/// Whether it is one of these.
fn is_alive(archive: &Archive, run: &RunRecord) -> bool {
    let is_open = run.team.is_some() && run.ended_at.is_none() && run.imported.is_none();
    is_open && !run.sessions.is_empty() && !is_client_gone(archive, run)
}

impl Status {
    /// Builds the status. `opened` are the running runs, `overrides` the active pauses and allowances.
    pub fn of(
        library: &RunCatalog,
        opened: &OpenedRun,
        surroundings: &StatusPaths<'_>,
        overrides: Overrides,
        now: Time,
    ) -> Status {
        let mut overrides = Overrides { v: 1, ..overrides };
        overrides.pauses.retain(|pause| pause.is_in_force(now));
        let live = opened.runs.iter().filter(|material| !material.client_gone);
        let teams = live.map(|material| TeamStatus::of(library, material, &merge(material), surroundings));
        Status {
            v: 1,
            at: clock::stamp(now),
            teams: teams.collect(),
            overrides,
            record: StoreStats::count(library, surroundings.log),
        }
    }
}

/// The paths that a status needs beside the archive.
#[derive(Debug, Clone, Copy)]
pub struct StatusPaths<'a> {
    /// Claude Code's directory, which is newer than the snapshots.
    pub client: Option<&'a std::path::Path>,
    /// The event log.
    pub log: &'a std::path::Path,
    /// The policy's counts.
    pub policy: &'a std::path::Path,
}
