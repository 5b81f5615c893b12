//! The clock, read in one place, and the spelling of a time.

mod when;
mod zone;

use chrono::{DateTime, SecondsFormat, TimeZone, Utc};

pub use when::When;
pub use zone::{is_utc, local, moment, moment_of, offset, resolve, use_local};

/// An instant, in UTC.
pub type Time = DateTime<Utc>;

/// The system's clock, or a fixed time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    pinned: Option<Time>,
}

impl Clock {
    /// The system's clock, or with `pinned` (RFC 3339) this fixed time.
    pub fn new(pinned: Option<&str>) -> Clock {
        Clock { pinned: pinned.and_then(parse) }
    }

    /// The current time in milliseconds.
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now(&self) -> Time {
        let now = self.pinned.unwrap_or_else(Utc::now);
        from_millis(now.timestamp_millis()).unwrap_or(now)
    }
}

/// The clock that the disk stamps files with, in nanoseconds since 1970. It cannot be pinned.
#[allow(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn file_time() -> i64 {
    Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX)
}

/// RFC 3339 in UTC with milliseconds: `2026-02-03T04:05:06.789Z`.
pub fn stamp(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Reads an RFC 3339 time of any offset.
pub fn parse(text: &str) -> Option<Time> {
    DateTime::parse_from_rfc3339(text.trim()).ok().map(|time| time.with_timezone(&Utc))
}

/// The time this many milliseconds earlier, formatted by [`stamp`]; an invalid time is returned unchanged.
pub fn before(stamped: &str, millis: i64) -> String {
    let earlier =
        parse(stamped).and_then(|time| time.checked_sub_signed(chrono::Duration::milliseconds(millis)));
    earlier.map_or_else(|| stamped.to_owned(), stamp)
}

/// A time from milliseconds since 1970, the format of Claude Code's `createdAt` and `joinedAt`.
pub fn from_millis(millis: i64) -> Option<Time> {
    Utc.timestamp_millis_opt(millis).single()
}

/// Reads a span such as `1m30s`, `2h`, `1w`, `45`, `1.5s`, `250ms` into milliseconds; a bare number is seconds.
pub fn parse_span(text: &str) -> Option<i64> {
    let mut rest = text.trim();
    let mut total = 0f64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 1.0,
            "" | "s" => 1_000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            "w" => 604_800_000.0,
            _ => return None,
        };
        rest = &rest[letters..];
        total += number * unit;
    }
    (total.is_finite() && total < 9e15).then_some(total.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_spelled_in_utc_with_milliseconds() {
        let time = parse("2026-02-03T05:05:06.7891+01:00").unwrap();
        assert_eq!(stamp(time), "2026-02-03T04:05:06.789Z");
    }

    #[test]
    fn spans_are_read_in_the_usual_spellings() {
        assert_eq!(parse_span("1m30s"), Some(90_000));
        assert_eq!(parse_span("45"), Some(45_000));
        assert_eq!(parse_span("1.5s"), Some(1_500));
        assert_eq!(parse_span("250ms"), Some(250));
        assert_eq!(parse_span("2d"), Some(172_800_000));
        assert_eq!(parse_span("1w1d"), parse_span("8d"));
        for bad in ["", "m", "1x", "1m-", "-5s", "1..2s"] {
            assert_eq!(parse_span(bad), None, "{bad}");
        }
    }
}
