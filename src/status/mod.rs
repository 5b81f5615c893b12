//! How the teams stand that are alive now, and how much is on record.
//!
//! [`Status`] is the whole of it, out of the stories of the runs that are alive. [`Brief`] is one line for the client's
//! status line, out of what was last captured and what the gates remember: it opens no story.

mod brief;
mod record;
mod team;

use serde::Serialize;

pub use brief::{Brief, Wanted};
pub use record::OnRecord;
pub use team::{Item, Member, TeamStatus};

use crate::archive::{Archive, RunRecord};
use crate::clock::{self, Time};
use crate::gatekeeper::Overrides;
use crate::timeline::{Library, Opened, is_client_gone, merge};

/// What `status --json` prints.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Version of the format: 1.
    pub v: u8,
    /// When it was so, RFC 3339.
    pub at: String,
    /// The teams that are alive, the oldest first.
    pub teams: Vec<TeamStatus>,
    /// What the policy lets through at present.
    pub overrides: Overrides,
    /// How much is on record.
    pub record: OnRecord,
}

/// The teams' runs that have no end on record, and whose client is not known to be gone. One that no session took part in
/// is left out: a client that resumes a session makes a team that it never uses (2.1.328).
pub fn alive(library: &Library) -> Vec<&RunRecord> {
    library.runs.iter().filter(|run| is_alive(&library.archive, run)).collect()
}

/// Whether it is one of these.
fn is_alive(archive: &Archive, run: &RunRecord) -> bool {
    let is_open = run.team.is_some() && run.ended_at.is_none() && run.imported.is_none();
    is_open && !run.sessions.is_empty() && !is_client_gone(archive, run)
}

impl Status {
    /// Draws it up. `opened` are the runs that are alive, `overrides` what is let through.
    pub fn of(
        library: &Library,
        opened: &Opened,
        surroundings: &Surroundings<'_>,
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
            record: OnRecord::count(library, surroundings.log),
        }
    }
}

/// Where things are that a status is drawn up from, beside the archive.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The client's directory: what lies there is newer than what was captured.
    pub client: Option<&'a std::path::Path>,
    /// The event log.
    pub log: &'a std::path::Path,
    /// What the gates remember.
    pub policy: &'a std::path::Path,
}
