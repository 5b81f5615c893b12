//! The clock, read in one place, and the spelling of a time. The zone of times that people read and write is UTC until
//! [`use_local`] is called, which a hook call does not do: it reads no zone file.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use chrono::{
    DateTime, Datelike, Days, FixedOffset, Local, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime,
    SecondsFormat, TimeDelta, TimeZone, Utc,
};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

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

#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    pinned: Option<Timestamp>,
}

impl Clock {
    /// The system's clock, or with `pinned` (RFC 3339) this fixed time.
    pub fn new(pinned: Option<&str>) -> Clock {
        Clock { pinned: pinned.and_then(parse) }
    }

    pub fn at(time: Timestamp) -> Clock {
        Clock { pinned: Some(time) }
    }

    #[allow(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now(&self) -> Timestamp {
        self.pinned.unwrap_or_else(|| Utc::now().into())
    }
}

/// The clock that the disk stamps files with, in nanoseconds since 1970. It cannot be pinned.
#[allow(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn file_time() -> i64 {
    Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX)
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// A time with an offset: `2026-02-03T04:05:06Z`, `2026-02-03 05:05 +01:00`, `2026-02-03 04:05 UTC`.
    At(Timestamp),
    /// A time or the start of a date in the local zone: `2026-02-03 04:05`, `2026-02-03`.
    Local(NaiveDateTime),
    /// The start of a day in the local zone, that many days ago: `today`, `yesterday`.
    Day(u64),
    /// `now`, `10m`, `2h ago`.
    Ago(TimeDelta),
    /// The time since the start of the run: `+1m30s`, or `-5s` before it.
    FromStart(TimeDelta),
}

impl When {
    /// Parses a time from the command line; a number without a unit is invalid, except after a sign. `None` if it has
    /// none of the forms.
    pub fn parse(text: &str) -> Option<When> {
        let text = text.trim();
        let span = |text: &str| parse_span(text).and_then(TimeDelta::try_milliseconds);
        match text {
            "now" => return Some(When::Ago(TimeDelta::zero())),
            "today" => return Some(When::Day(0)),
            "yesterday" => return Some(When::Day(1)),
            _ => {}
        }
        if let Some(after) = text.strip_prefix('+') {
            return span(after).map(When::FromStart);
        }
        if let Some(before) = text.strip_prefix('-') {
            return span(before).map(|before| When::FromStart(-before));
        }
        let age = text.strip_suffix("ago").map_or(text, str::trim_end);
        let is_bare = age.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let age = span(age).filter(|_| !is_bare).map(When::Ago);
        parse(text).map(When::At).or_else(|| dated(text)).or(age)
    }

    /// The time that it refers to. `None` if it is out of range, or relative to a start that is not given.
    pub fn time(self, now: Timestamp, start: Option<Timestamp>) -> Option<Timestamp> {
        let time = match self {
            When::At(time) => Some(time),
            When::Local(naive) => resolve(naive),
            When::Day(days) => {
                let day = local(now).date_naive().checked_sub_days(Days::new(days))?;
                resolve(day.and_time(NaiveTime::MIN))
            }
            // An age that reaches further back than any date means the beginning.
            When::Ago(age) => Some(now.checked_sub(age).unwrap_or(Timestamp::MIN)),
            When::FromStart(span) => start?.checked_add(span),
        };
        // RFC 3339 has four digits of a year.
        time.filter(|time| time.utc().year() <= 9_999)
    }
}

fn dated(text: &str) -> Option<When> {
    let (text, offset) = zone(text);
    let naive = naive(text.trim_end())?;
    let Some(offset) = offset else { return Some(When::Local(naive)) };
    let time: Option<DateTime<FixedOffset>> = offset.from_local_datetime(&naive).single();
    time.map(|time| When::At(time.to_utc().into()))
}

/// Splits off `UTC`, `Z` or an offset such as `+01:00` at the end.
fn zone(text: &str) -> (&str, Option<FixedOffset>) {
    if let Some(rest) = text.strip_suffix("UTC").or_else(|| text.strip_suffix(['Z', 'z'])) {
        return (rest, FixedOffset::east_opt(0));
    }
    let is_offset = |offset: &str| offset.starts_with(['+', '-']) && offset.as_bytes().get(3) == Some(&b':');
    let offset = text.split_at_checked(text.len().saturating_sub("+01:00".len()));
    match offset.filter(|(_, offset)| is_offset(offset)) {
        Some((rest, offset)) => offset.parse().map_or((text, None), |offset| (rest, Some(offset))),
        None => (text, None),
    }
}

fn naive(text: &str) -> Option<NaiveDateTime> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"];
    let timed = text.replacen(' ', "T", 1);
    let read = |format: &&str| NaiveDateTime::parse_from_str(&timed, format).ok();
    date.map(|date| date.and_time(NaiveTime::MIN)).or_else(|| formats.iter().find_map(read))
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

    fn at(text: &str) -> Option<String> {
        let (now, start) = (parse("2026-02-03T04:05:06Z"), parse("2026-02-03T04:00:00Z"));
        When::parse(text)?.time(now.unwrap(), start).map(|time| time.to_string())
    }

    #[test]
    fn a_time_with_a_zone_is_that_time() {
        for same in [
            "2026-02-03T05:05:06+01:00",
            "2026-02-03 05:05:06 +01:00",
            "2026-02-03 04:05:06 UTC",
            "2026-02-03 04:05:06Z",
            "2026-02-03T04:05:06.000Z",
            " 2026-02-02 22:35:06 -05:30 ",
        ] {
            assert_eq!(at(same).as_deref(), Some("2026-02-03T04:05:06.000Z"), "{same}");
        }
        assert_eq!(at("2026-02-03 04:05 UTC").unwrap(), "2026-02-03T04:05:00.000Z");
        assert_eq!(at("2026-02-03T04:05Z").unwrap(), "2026-02-03T04:05:00.000Z");
        assert_eq!(at("2026-02-03 UTC").unwrap(), "2026-02-03T00:00:00.000Z");
        assert_eq!(at("2026-02-03 +01:00").unwrap(), "2026-02-02T23:00:00.000Z");
    }

    #[test]
    fn a_time_without_a_zone_is_local() {
        for text in ["2026-02-03 04:05:06", "2026-02-03T04:05:06", "2026-02-03 04:05", "2026-02-03T04:05"] {
            assert!(matches!(When::parse(text), Some(When::Local(_))), "{text}");
        }
        assert_eq!(at("2026-02-03 04:05").unwrap(), "2026-02-03T04:05:00.000Z");
        assert_eq!(at("2026-02-03").unwrap(), "2026-02-03T00:00:00.000Z");
        assert_eq!(at("today").unwrap(), "2026-02-03T00:00:00.000Z");
        assert_eq!(at("yesterday").unwrap(), "2026-02-02T00:00:00.000Z");
    }

    #[test]
    fn a_time_is_relative_to_now_or_to_the_start_of_the_run() {
        assert_eq!(at("now").unwrap(), "2026-02-03T04:05:06.000Z");
        for age in ["1d12h", "1d12h ago", "36h"] {
            assert_eq!(at(age).as_deref(), Some("2026-02-01T16:05:06.000Z"), "{age}");
        }
        assert_eq!(at("1w").unwrap(), "2026-01-27T04:05:06.000Z");
        assert_eq!(at("+1m30s").unwrap(), "2026-02-03T04:01:30.000Z");
        assert_eq!(at("-5").unwrap(), "2026-02-03T03:59:55.000Z");
        assert_eq!(at("+500000w"), None, "after the year 9999");
        assert_eq!(When::parse("+5s").unwrap().time(parse("2026-02-03T04:05:06Z").unwrap(), None), None);
    }

    #[test]
    fn another_form_is_invalid() {
        for bad in [
            "",
            "10",
            "10 ago",
            "ago",
            "tomorrow",
            "--1h",
            "2026-02-30",
            "2026-02-03 25:00",
            "4:40",
            "é+01:00",
        ] {
            assert_eq!(When::parse(bad), None, "{bad}");
        }
    }
}
