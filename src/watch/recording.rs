//! The data of a run that do not depend on the time that is shown, and the state of the run at a time.

use chrono::TimeDelta;

use super::player::Playback;
use crate::status::{Board, Observed};
use crate::view::TimelineOptions;
use teamkeep_history::report::{BurnRate, Incident, Severity};
use teamkeep_history::timeline::{Entry, RunData};
use teamkeep_model::time::Timestamp;

/// The data of a run.
#[derive(Debug)]
pub struct Recording {
    pub data: RunData,
    pub observed: Observed,
    /// Number of other running teams.
    pub others: usize,
    /// The places of the messages in the timeline, without automatic ones.
    pub messages: Vec<usize>,
    /// The times of the visible entries, those that `log` shows without `--all`, in order.
    pub times: Vec<Timestamp>,
}

/// The state of a run at a time.
#[derive(Debug)]
pub struct Moment {
    pub at: Timestamp,
    /// Whether it is the end of the run, or now.
    pub is_end: bool,
    /// The agents are sorted, worst first.
    pub board: Board,
    pub alerts: Vec<Alert>,
    pub burn: Option<BurnRate>,
    /// Number of the messages that were sent until then.
    pub messages: usize,
}

/// An incident that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Its place in the report's incidents.
    pub place: usize,
    pub id: String,
    pub severity: Severity,
    /// Whether it has ended since.
    pub is_over: bool,
}

impl Moment {
    /// Number of incidents of this severity that last.
    pub fn lasting(&self, severity: Severity) -> usize {
        self.alerts.iter().filter(|alert| !alert.is_over && alert.severity == severity).count()
    }

    pub fn over(&self) -> usize {
        self.alerts.iter().filter(|alert| alert.is_over).count()
    }
}

impl Recording {
    pub fn new(data: RunData, observed: Observed, others: usize) -> Recording {
        let entries = &observed.timeline.entries;
        let is_message = |entry: &Entry| entry.message().is_some() && !entry.is_automatic();
        let messages = (0..entries.len()).filter(|place| is_message(&entries[*place])).collect();
        let options = TimelineOptions::default();
        let mut times: Vec<Timestamp> =
            entries.iter().filter(|entry| options.shows(entry)).map(|entry| entry.at).collect();
        times.dedup();
        Recording { data, observed, others, messages, times }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.observed.timeline.entries
    }

    pub fn incident(&self, id: &str) -> Option<&Incident> {
        self.observed.incidents().iter().find(|incident| incident.id == id)
    }

    pub fn is_running(&self) -> bool {
        self.observed.is_running
    }

    pub fn start(&self) -> Timestamp {
        self.times.first().copied().unwrap_or(self.data.run.started_at).min(self.data.run.started_at)
    }

    /// The end of the run, or the time at which it was observed.
    pub fn end(&self) -> Timestamp {
        self.observed.end(&self.data)
    }

    /// The worst incident of a run that is over, and the moment that shows it best: a condition just before it ends, an
    /// event when it happens.
    pub fn worst(&self) -> Option<(&Incident, Playback)> {
        let incident = self.observed.incidents().first().filter(|_| !self.is_running())?;
        let last = incident.to.unwrap_or(self.end()).min(self.end());
        let at = match incident.kind.is_condition() {
            true => last.checked_sub(TimeDelta::milliseconds(1)).unwrap_or(last).max(incident.from),
            false => incident.from,
        };
        Some((incident, if at < self.end() { Playback::Paused(at) } else { Playback::End }))
    }

    /// The state of the run at that point. `now` is the time at the end of a running team's run.
    pub fn moment(&self, playback: Playback, now: Timestamp) -> Moment {
        let at = match playback.time() {
            Some(at) => at,
            None if self.is_running() => now.max(self.end()),
            None => self.end(),
        };
        let is_end = playback.time().is_none();
        let mut board = match is_end {
            true => self.observed.board(&self.data),
            false => self.observed.board_at(&self.data, at),
        };
        board.members.sort_by(|one, other| one.rank().cmp(&other.rank()));
        let known = self.messages.partition_point(|place| self.entries()[*place].at <= at);
        Moment {
            at,
            is_end,
            alerts: self.alerts(&board, at, playback),
            burn: self.observed.burn_rate(&self.data, at),
            board,
            messages: known,
        }
    }

    /// The incidents that have begun, those that last first. At the end of a run all are shown alike.
    fn alerts(&self, board: &Board, at: Timestamp, playback: Playback) -> Vec<Alert> {
        let is_summary = playback == Playback::End && !self.is_running();
        let begun = self.observed.incidents().iter().enumerate().filter(|(_, incident)| incident.from <= at);
        let alert = |(place, incident): (usize, &Incident)| Alert {
            place,
            id: incident.id.clone(),
            severity: incident.severity,
            is_over: !is_summary && board.is_over(incident, at),
        };
        let mut alerts: Vec<Alert> = begun.map(alert).collect();
        alerts.sort_by_key(|alert| alert.is_over);
        alerts
    }

    /// The time of the next visible entry; `None` after the last one.
    pub fn next_time(&self, at: Timestamp) -> Option<Timestamp> {
        self.times.get(self.times.partition_point(|time| *time <= at)).copied()
    }

    pub fn previous_time(&self, at: Timestamp) -> Option<Timestamp> {
        let count = self.times.partition_point(|time| *time < at);
        count.checked_sub(1).and_then(|place| self.times.get(place)).copied()
    }
}
