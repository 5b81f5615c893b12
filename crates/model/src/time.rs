//! Times and their spelling. The zone of times that people read and write is UTC until [`use_local`] is called, which a hook call
//! does not do: it reads no zone file.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use chrono::{
    DateTime, Days, FixedOffset, Local, MappedLocalTime, NaiveDate, NaiveDateTime, SecondsFormat, TimeDelta,
    TimeZone, Utc,
};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

pub const HOUR: Duration = Duration::from_secs(3_600);
pub const DAY: Duration = Duration::from_secs(86_400);

/// A moment in milliseconds since 1970, within the range of chrono's dates. As text it is RFC 3339 in UTC with
/// milliseconds: `2026-02-03T04:05:06.789Z`. A text that is not a valid time is deserialized as 1970, so that it does
/// not hide the rest of a record; see [`Timestamp::is_valid`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const MIN: Timestamp = Timestamp(DateTime::<Utc>::MIN_UTC.timestamp_millis());

    pub fn from_millis(millis: i64) -> Option<Timestamp> {
        DateTime::from_timestamp_millis(millis).map(|_| Timestamp(millis))
    }

    /// Whether it was read from a valid time.
    pub fn is_valid(self) -> bool {
        self != Timestamp::default()
    }

    pub fn millis(self) -> i64 {
        self.0
    }

    pub fn utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }

    pub fn date(self) -> NaiveDate {
        self.utc().date_naive()
    }

    pub fn checked_add(self, span: TimeDelta) -> Option<Timestamp> {
        Timestamp::from_millis(self.0.checked_add(span.num_milliseconds())?)
    }

    pub fn checked_sub(self, span: TimeDelta) -> Option<Timestamp> {
        Timestamp::from_millis(self.0.checked_sub(span.num_milliseconds())?)
    }
}

/// A sum out of range is the moment itself.
impl Add<TimeDelta> for Timestamp {
    type Output = Timestamp;

    fn add(self, span: TimeDelta) -> Timestamp {
        self.checked_add(span).unwrap_or(self)
    }
}

impl Sub<TimeDelta> for Timestamp {
    type Output = Timestamp;

    fn sub(self, span: TimeDelta) -> Timestamp {
        self.checked_sub(span).unwrap_or(self)
    }
}

impl Sub for Timestamp {
    type Output = TimeDelta;

    fn sub(self, earlier: Timestamp) -> TimeDelta {
        TimeDelta::milliseconds(self.0 - earlier.0)
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Timestamp {
        Timestamp(time.timestamp_millis())
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        DateTime::<Utc>::from(time).into()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.utc().to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        /// Each line of a log has times: they are read without a copy.
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Timestamp;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a time in RFC 3339")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                Ok(parse(text).unwrap_or_default())
            }
        }
        from.deserialize_str(Text)
    }
}

pub fn parse(text: &str) -> Option<Timestamp> {
    DateTime::parse_from_rfc3339(text.trim()).ok().map(|time| time.to_utc().into())
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

/// A duration for people, rounded down: `840 ms`, `12 s`, `1 min 5 s`, `12 min`, `3 h 18 min`, `2 d 4 h`. It has at most two
/// units and no part that is zero; from ten minutes on, seconds are left out. `lasting` in the report page agrees with it.
pub fn duration(millis: i64) -> String {
    let (seconds, minutes, hours) = (millis / 1_000, millis / 60_000, millis / 3_600_000);
    let two = |large: i64, unit: &str, small: i64, unit_of_small: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {unit_of_small}"),
    };
    match seconds {
        ..1 if millis > 0 => format!("{millis} ms"),
        ..1 => "0 s".to_owned(),
        1..60 => format!("{seconds} s"),
        60..600 => two(minutes, "min", seconds % 60, "s"),
        600..3_600 => format!("{minutes} min"),
        3_600..86_400 => two(hours, "h", minutes % 60, "min"),
        _ => two(hours / 24, "d", hours % 24, "h"),
    }
}

/// How long ago something was, in its largest unit: `just now`, `18 min ago`, `3 h ago`, `2 d ago`.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let minutes = (now - at).num_minutes();
    match minutes {
        ..1 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1_440 => format!("{} h ago", minutes / 60),
        _ => format!("{} d ago", minutes / 1_440),
    }
}

static IS_LOCAL: AtomicBool = AtomicBool::new(false);

pub fn use_local() {
    IS_LOCAL.store(true, Ordering::Relaxed);
}

/// Whether times are in UTC because no other zone was asked for.
pub fn is_utc() -> bool {
    !IS_LOCAL.load(Ordering::Relaxed)
}

pub fn local(time: Timestamp) -> DateTime<FixedOffset> {
    if is_utc() { time.utc().fixed_offset() } else { time.utc().with_timezone(&Local).fixed_offset() }
}

/// A time for people: `2026-02-03 05:05:06 +01:00`, or `2026-02-03 04:05:06 UTC`.
pub fn moment(time: Timestamp) -> String {
    format!("{} {}", local(time).format("%Y-%m-%d %H:%M:%S"), offset(time))
}

/// The zone's offset at a time: `UTC` or `+01:00`.
pub fn offset(time: Timestamp) -> String {
    let local = local(time);
    if local.offset().local_minus_utc() == 0 { "UTC".to_owned() } else { local.format("%:z").to_string() }
}

/// The time at which clocks in the zone show `naive`: the first of two, or for a time that they skip, the time with the
/// offset from before the change. `None` if it is out of range.
pub fn resolve(naive: NaiveDateTime) -> Option<Timestamp> {
    if is_utc() {
        return Some(naive.and_utc().into());
    }
    match Local.from_local_datetime(&naive) {
        MappedLocalTime::Single(time) => Some(time.to_utc().into()),
        MappedLocalTime::Ambiguous(one, other) => Some(one.min(other).to_utc().into()),
        MappedLocalTime::None => {
            let day_before = naive.checked_sub_days(Days::new(1))?;
            let before = Local.from_local_datetime(&day_before).earliest()?;
            Some(naive.checked_sub_offset(*before.offset())?.and_utc().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_spelled_in_utc_with_milliseconds() {
        let time = parse("2026-02-03T05:05:06.7891+01:00").unwrap();
        assert_eq!(time.to_string(), "2026-02-03T04:05:06.789Z");
    }

    #[test]
    fn a_duration_has_at_most_two_units_and_no_zeros() {
        let second = 1_000;
        let (minute, hour, day) = (60 * second, 3_600 * second, 86_400 * second);
        let cases = [
            (-5, "0 s"),
            (0, "0 s"),
            (1, "1 ms"),
            (999, "999 ms"),
            (second, "1 s"),
            (minute - 1, "59 s"),
            (minute, "1 min"),
            (minute + 5 * second, "1 min 5 s"),
            (10 * minute - 1, "9 min 59 s"),
            (10 * minute + 59 * second, "10 min"),
            (hour - 1, "59 min"),
            (hour + 59 * second, "1 h"),
            (3 * hour + 18 * minute, "3 h 18 min"),
            (day - 1, "23 h 59 min"),
            (day + 59 * minute, "1 d"),
            (26 * day + 4 * hour, "26 d 4 h"),
        ];
        assert_eq!(cases.map(|(millis, _)| duration(millis)), cases.map(|(_, shown)| shown.to_owned()));
    }

    #[test]
    fn a_time_ago_has_one_unit() {
        let now = parse("2026-02-03T04:05:06Z").unwrap();
        let ago = |seconds| ago(now - TimeDelta::seconds(seconds), now);
        let shown = [-5, 59, 61, 3 * 3_600 + 59 * 60, 3 * 86_400].map(ago);
        assert_eq!(shown, ["just now", "just now", "1 min ago", "3 h ago", "3 d ago"]);
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
        assert_eq!(resolve(time.utc().naive_utc()), Some(time));
    }
}
