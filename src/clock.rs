//! The clock, read in one place, and the spelling of a time.

use chrono::{DateTime, NaiveDateTime, SecondsFormat, TimeDelta, TimeZone, Utc};

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

/// Reads a time as people write it: RFC 3339, or without an offset, which means UTC, and with a space for the `T`.
pub fn parse_loose(text: &str) -> Option<Time> {
    let text = text.trim();
    let naive = text.strip_suffix("UTC").unwrap_or(text).trim_end().replacen(' ', "T", 1);
    let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"];
    let read = |format: &&str| NaiveDateTime::parse_from_str(&naive, format).ok();
    parse(text).or_else(|| formats.iter().find_map(read).map(|time| time.and_utc()))
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

/// Reads a span such as `1m30s`, `2h`, `45`, `1.5s`, `250ms` into milliseconds; a bare number is seconds.
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
            _ => return None,
        };
        rest = &rest[letters..];
        total += number * unit;
    }
    (total.is_finite() && total < 9e15).then_some(total.round() as i64)
}

/// A time as a user gives it: an instant, or an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// RFC 3339.
    At(Time),
    /// `10m`, `2h`, `1d`.
    Ago(TimeDelta),
}

impl When {
    /// Parses a time from the command line.
    ///
    /// # Errors
    /// It is neither; a number without a unit is invalid.
    pub fn parse(text: &str) -> Result<When, String> {
        let bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let age = parse_span(text).filter(|_| !bare).and_then(TimeDelta::try_milliseconds);
        let when = parse_loose(text).map(When::At).or(age.map(When::Ago));
        when.ok_or_else(|| {
            "neither a time (2026-02-03T04:05:06Z, or 2026-02-03 04:05:06 for UTC) nor an age (10m, 2h, 1d)"
                .to_owned()
        })
    }

    /// The time that it refers to.
    pub fn before(self, now: Time) -> Time {
        match self {
            When::At(time) => time,
            When::Ago(age) => now.checked_sub_signed(age).unwrap_or(Time::MIN_UTC),
        }
    }
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
        for bad in ["", "m", "1x", "1m-", "-5s", "1..2s"] {
            assert_eq!(parse_span(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_time_is_given_as_an_instant_or_an_age() {
        let now = parse("2026-02-03T04:05:06Z").unwrap();
        let at = |text: &str| When::parse(text).map(|when| stamp(when.before(now)));
        assert_eq!(at("2026-02-03T05:00:00+01:00").unwrap(), "2026-02-03T04:00:00.000Z");
        for utc in
            ["2026-02-03 04:05:06", "2026-02-03T04:05:06", "2026-02-03 04:05:06 UTC", "2026-02-03 04:05:06Z"]
        {
            assert_eq!(at(utc).unwrap(), "2026-02-03T04:05:06.000Z", "{utc}");
        }
        assert_eq!(at("2026-02-03 04:05").unwrap(), "2026-02-03T04:05:00.000Z");
        assert_eq!(at("1d").unwrap(), "2026-02-02T04:05:06.000Z");
        for bad in ["", "10", "yesterday", "-1h", "2026-02-03"] {
            assert!(at(bad).is_err(), "{bad}");
        }
    }
}
