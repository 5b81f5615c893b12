//! The time that is shown: the end of the run or now, a moment of the past, or one that moves.

use std::time::Duration;

use chrono::TimeDelta;

use teamkeep_model::time::Timestamp;

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
