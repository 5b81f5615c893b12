//! The recording of a run: its data, the time of it that is shown, and the state of the run at that time.

use std::time::Duration;

use chrono::TimeDelta;

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

/// Maximum time for playing the gap between two visible entries.
const MAX_PAUSE_MS: f64 = 2_000.0;
const SLOWEST: f64 = 0.01;
const FASTEST: f64 = 1e6;

/// The speed as a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

impl Default for Speed {
    fn default() -> Speed {
        Speed(10.0)
    }
}

impl Speed {
    /// Parses `10x`, `10`, `0.5x` or `max`.
    pub fn parse(text: &str) -> Result<Speed, String> {
        if text == "max" {
            return Ok(Speed(FASTEST));
        }
        let factor: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
        let factor = factor.filter(|factor| (SLOWEST..=FASTEST).contains(factor));
        factor.map(Speed).ok_or_else(|| "expected 10x, 0.5x (0.01 to 1000000) or max".to_owned())
    }

    #[must_use]
    pub fn faster(self) -> Speed {
        Speed((self.0 * 2.0).min(FASTEST))
    }

    #[must_use]
    pub fn slower(self) -> Speed {
        Speed((self.0 / 2.0).max(SLOWEST))
    }

    pub fn label(self) -> String {
        let digits = if self.0 < 1.0 { 2 } else { 1 };
        let number = format!("{:.digits$}", self.0);
        let number =
            if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
        format!("{number}x")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Playback {
    /// The end of the run; of a running team, now.
    #[default]
    End,
    Paused(Timestamp),
    Playing(Timestamp),
}

impl Playback {
    /// The time that is shown; `None` for the end.
    pub fn time(self) -> Option<Timestamp> {
        match self {
            Playback::End => None,
            Playback::Paused(at) | Playback::Playing(at) => Some(at),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Player {
    pub playback: Playback,
    pub speed: Speed,
}

impl Player {
    /// Advances the time that is shown. `times` are the times of the visible entries, in order.
    pub fn advance(&mut self, elapsed: Duration, times: &[Timestamp]) {
        let Playback::Playing(mut at) = self.playback else { return };
        let mut rest = elapsed.as_secs_f64() * 1_000.0;
        loop {
            let next = times.partition_point(|time| *time <= at);
            let Some(target) = times.get(next).copied() else {
                self.playback = Playback::End;
                return;
            };
            let before = next.checked_sub(1).and_then(|place| times.get(place)).copied().unwrap_or(at);
            let pause = (target - before).num_milliseconds() as f64;
            let factor = self.speed.0.max(pause / MAX_PAUSE_MS);
            let missing = (target - at).num_milliseconds() as f64 / factor;
            if missing > rest {
                let moved = TimeDelta::milliseconds((rest * factor) as i64);
                self.playback = Playback::Playing(at.checked_add(moved).unwrap_or(target));
                return;
            }
            rest -= missing;
            at = target;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    fn played(speed: &str, millis: u64) -> Playback {
        let times = [0, 1_000, 3_600_000, 3_600_500].map(time);
        let speed = Speed::parse(speed).unwrap();
        let mut player = Player { playback: Playback::Playing(time(0)), speed };
        player.advance(Duration::from_millis(millis), &times);
        player.playback
    }

    #[test]
    fn a_speed_is_read_as_people_write_it() {
        assert_eq!(Speed::parse("10x"), Ok(Speed(10.0)));
        let labels = ["0.5", "0.01x", "1", "2.5x", "max"].map(|text| Speed::parse(text).unwrap().label());
        assert_eq!(labels, ["0.5x", "0.01x", "1x", "2.5x", "1000000x"]);
        for bad in ["", "x", "0", "-1x", "NaN", "inf", "1e9", "fast", "10xx"] {
            assert!(Speed::parse(bad).is_err(), "{bad}");
        }
        assert_eq!((Speed(10.0).faster(), Speed(10.0).slower()), (Speed(20.0), Speed(5.0)));
        assert_eq!((Speed(FASTEST).faster(), Speed(SLOWEST).slower()), (Speed(FASTEST), Speed(SLOWEST)));
    }

    #[test]
    fn time_passes_at_the_speed_and_long_pauses_are_shortened() {
        assert_eq!(played("1x", 400), Playback::Playing(time(400)));
        assert_eq!(played("0.5x", 1_000), Playback::Playing(time(500)));
        let halfway = 1_000 + (3_600_000 - 1_000) / 2;
        assert_eq!(played("1x", 2_000), Playback::Playing(time(halfway)), "an hour takes two seconds");
        assert_eq!(played("1x", 3_000), Playback::Playing(time(3_600_000)));
        assert_eq!(played("1x", 3_600), Playback::End);
        assert_eq!(played("max", 10), Playback::End);
    }

    #[test]
    fn a_paused_player_does_not_move() {
        let mut player = Player { playback: Playback::Paused(time(5)), ..Player::default() };
        player.advance(Duration::from_secs(9), &[time(0), time(9)]);
        assert_eq!(player.playback, Playback::Paused(time(5)));
    }
}
