//! The clock, read in one place, and the spelling of a time. The zone of times that people read and write is UTC until
//! [`use_local`] is called, which a hook call does not do: it reads no zone file.

mod when;

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{
    DateTime, Days, FixedOffset, Local, MappedLocalTime, NaiveDateTime, SecondsFormat, TimeZone, Utc,
};

pub use when::When;

pub type Time = DateTime<Utc>;

#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    pinned: Option<Time>,
}

impl Clock {
    /// The system's clock, or with `pinned` (RFC 3339) this fixed time.
    pub fn new(pinned: Option<&str>) -> Clock {
        Clock { pinned: pinned.and_then(parse) }
    }

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

pub fn parse(text: &str) -> Option<Time> {
    DateTime::parse_from_rfc3339(text.trim()).ok().map(|time| time.with_timezone(&Utc))
}

/// The time this many milliseconds earlier, formatted by [`stamp`]; an invalid time is returned unchanged.
pub fn before(stamped: &str, millis: i64) -> String {
    let earlier =
        parse(stamped).and_then(|time| time.checked_sub_signed(chrono::Duration::milliseconds(millis)));
    earlier.map_or_else(|| stamped.to_owned(), stamp)
}

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

/// Whether the zone is that of `TZ` or of the system.
static IS_LOCAL: AtomicBool = AtomicBool::new(false);

/// Uses the time zone of `TZ`, or of the system, from now on.
pub fn use_local() {
    IS_LOCAL.store(true, Ordering::Relaxed);
}

/// Whether times are in UTC because no other zone was asked for.
pub fn is_utc() -> bool {
    !IS_LOCAL.load(Ordering::Relaxed)
}

pub fn local(time: Time) -> DateTime<FixedOffset> {
    if is_utc() { time.fixed_offset() } else { time.with_timezone(&Local).fixed_offset() }
}

/// A time for people: `2026-02-03 05:05:06 +01:00`, or `2026-02-03 04:05:06 UTC`.
pub fn moment(time: Time) -> String {
    format!("{} {}", local(time).format("%Y-%m-%d %H:%M:%S"), offset(time))
}

/// [`moment`] of a time formatted by [`stamp`]; an invalid time is returned unchanged.
pub fn moment_of(stamped: &str) -> String {
    parse(stamped).map_or_else(|| stamped.to_owned(), moment)
}

/// The zone's offset at a time: `UTC` or `+01:00`.
pub fn offset(time: Time) -> String {
    let local = local(time);
    if local.offset().local_minus_utc() == 0 { "UTC".to_owned() } else { local.format("%:z").to_string() }
}

/// The time at which clocks in the zone show `naive`: the first of two, or for a time that they skip, the time with the
/// offset from before the change. `None` if it is out of range.
pub fn resolve(naive: NaiveDateTime) -> Option<Time> {
    if is_utc() {
        return Some(naive.and_utc());
    }
    match Local.from_local_datetime(&naive) {
        MappedLocalTime::Single(time) => Some(time.to_utc()),
        MappedLocalTime::Ambiguous(one, other) => Some(one.min(other).to_utc()),
        MappedLocalTime::None => {
            let day_before = naive.checked_sub_days(Days::new(1))?;
            let before = Local.from_local_datetime(&day_before).earliest()?;
            Some(naive.checked_sub_offset(*before.offset())?.and_utc())
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
        assert_eq!(parse_span("1w1d"), parse_span("8d"));
        for bad in ["", "m", "1x", "1m-", "-5s", "1..2s"] {
            assert_eq!(parse_span(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_zone_is_utc_unless_the_command_line_asks_for_another() {
        let time = parse("2026-02-03T04:05:06.789Z").unwrap();
        assert_eq!(moment(time), "2026-02-03 04:05:06 UTC");
        assert_eq!(resolve(time.naive_utc()), Some(time));
        assert_eq!(
            (moment_of("2026-02-03T05:05:06+01:00"), moment_of("noon")),
            (moment(time), "noon".into())
        );
    }
}
