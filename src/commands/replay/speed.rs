//! The speed of playback.

use std::time::Duration;

/// A factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

/// Maximum duration of a pause during playback.
pub const MAX_PAUSE: Duration = Duration::from_secs(2);

impl Speed {
    /// Parses `10x`, `10`, `0.5x` or `max`.
    ///
    /// # Errors
    /// The text is none of them.
    pub fn parse(text: &str) -> Result<Speed, String> {
        if text == "max" {
            return Ok(Speed(f64::INFINITY));
        }
        let number: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
        let sane = number.filter(|number| (0.01..=1e6).contains(number));
        sane.map(Speed).ok_or_else(|| "expected 10x, 0.5x (0.01 to 1000000) or max".to_owned())
    }

    /// How long to wait for a duration of the run in milliseconds, and whether that was shortened.
    pub fn wait(self, millis: i64) -> (Duration, bool) {
        let seconds = millis.max(0) as f64 / 1_000.0 / self.0;
        if seconds > MAX_PAUSE.as_secs_f64() {
            return (MAX_PAUSE, true);
        }
        (Duration::from_secs_f64(seconds), false)
    }

    /// The text shown on the screen.
    pub fn word(self) -> String {
        if self.0.is_finite() { format!("{}x", self.0) } else { "max".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_read_as_people_write_it() {
        assert_eq!(Speed::parse("10x"), Ok(Speed(10.0)));
        assert_eq!(Speed::parse("0.5").unwrap().word(), "0.5x");
        assert_eq!(Speed::parse("max").unwrap().wait(1_000_000), (Duration::ZERO, false));
        for bad in ["", "x", "0", "-1x", "NaN", "inf", "1e9", "fast", "10xx"] {
            assert!(Speed::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_long_pause_is_shortened() {
        let speed = Speed::parse("10x").unwrap();
        assert_eq!(speed.wait(20_000), (MAX_PAUSE, false));
        assert_eq!(speed.wait(20_001), (MAX_PAUSE, true));
        assert_eq!(speed.wait(500), (Duration::from_millis(50), false));
        assert_eq!(speed.wait(-5), (Duration::ZERO, false));
    }
}
