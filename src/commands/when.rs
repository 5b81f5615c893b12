//! A time as people write it on the command line.

use chrono::{
    DateTime, Datelike, Days, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone,
};

use teamkeep_core::sys::clock::{Timestamp, local, parse, parse_span, resolve};

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
