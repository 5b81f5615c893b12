//! A run as it is known at a moment. `status` and `watch` show the same observation.

use super::board::{Board, BoardSources};
use crate::report::{ActivityTimes, BurnRate, Incident, Report};
use crate::timeline::{InboxHistory, RunData, Timeline, merge, open_index};
use teamkeep_core::config::{Config, Price};
use teamkeep_core::enforcement::SnapshotReader;
use teamkeep_core::policy::TeamState;
use teamkeep_core::store::archive::Archive;
use teamkeep_core::sys::clock::Timestamp;
use teamkeep_core::sys::paths::Paths;

#[derive(Debug)]
pub struct Observation {
    /// When it was made: incidents of a running team are judged as of then.
    pub at: Timestamp,
    /// Whether the team is running.
    pub is_running: bool,
    pub timeline: Timeline,
    pub report: Report,
    /// Roster, tasks and messages from the files on disk, or else from the last snapshots.
    pub files: TeamState,
    activity: ActivityTimes,
    inboxes: InboxHistory,
    prices: Vec<Price>,
}

/// The input of an observation besides the data of the run.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub archive: &'a Archive,
    pub paths: &'a Paths,
    pub config: &'a Config,
}

impl Observation {
    pub fn of(data: &RunData, around: Surroundings<'_>, now: Timestamp) -> Observation {
        let (run, archive) = (&data.run, around.archive);
        let is_running = run.ended_at.is_none() && run.imported.is_none() && !data.client_gone;
        let index = open_index(archive, run).filter(|_| is_running);
        let client = around.paths.client.as_deref();
        let reader = SnapshotReader { archive, client, live_first: true, until: None };
        let files = reader.team((run.team.as_deref(), None), index.as_ref());
        let timeline = merge(data);
        Observation {
            at: now,
            is_running,
            report: Report::of(data, &timeline, around.config, now),
            activity: ActivityTimes::of(data, &timeline),
            inboxes: InboxHistory::of(archive, data),
            prices: around.config.report.price.clone(),
            timeline,
            files,
        }
    }

    /// The last moment of the run: now for a running team.
    pub fn end(&self, data: &RunData) -> Timestamp {
        // An event can be later than this process's clock.
        let last = data.last_moment(&self.timeline.entries);
        if self.is_running { last.max(self.at) } else { last }
    }

    /// The board now, or at the end of the run.
    pub fn board(&self, data: &RunData) -> Board {
        let at = self.end(data);
        if self.is_running {
            return Board::at(self.sources(data), |name| self.files.waiting(name), at);
        }
        let unread = self.inboxes.unread_at(at);
        Board::at_end(self.sources(data), |name| unread.get(name).copied().unwrap_or_default(), at)
    }

    /// The board at a moment of the past.
    pub fn board_at(&self, data: &RunData, at: Timestamp) -> Board {
        let unread = self.inboxes.unread_at(at);
        Board::at(self.sources(data), |name| unread.get(name).copied().unwrap_or_default(), at)
    }

    pub fn burn_rate(&self, data: &RunData, at: Timestamp) -> Option<BurnRate> {
        BurnRate::at(data, &self.timeline, &self.prices, at)
    }

    pub fn incidents(&self) -> &[Incident] {
        &self.report.incidents
    }

    fn sources<'a>(&'a self, data: &'a RunData) -> BoardSources<'a> {
        BoardSources {
            data,
            entries: &self.timeline.entries,
            incidents: &self.report.incidents,
            activity: &self.activity,
        }
    }
}
