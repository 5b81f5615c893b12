//! A time as people write it on the command line.

use chrono::{
    DateTime, Datelike, Days, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone,
};

use teamkeep_model::time::{Timestamp, local, parse, parse_span, resolve};
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result};

const TIME_FORMS: &str = "expected 17:53, 2026-11-20 04:40 (local), 2026-11-20T04:40:00Z, 2026-11-20, today, yesterday, now, an age (10m, 2h, 1w)";
/// The additional form if a run is named.
const RELATIVE_FORM: &str = ", or the time since the start of the run (+1m30s)";

/// When a run started and ended: what a time that names it may refer to.
#[derive(Debug, Clone, Copy)]
pub struct RunTimes {
    pub start: Timestamp,
    /// `None` while it is running.
    pub end: Option<Timestamp>,
}

impl From<&RunRecord> for RunTimes {
    fn from(run: &RunRecord) -> RunTimes {
        RunTimes { start: run.started_at, end: run.ended_at }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// A time with an offset: `2026-02-03T04:05:06Z`, `2026-02-03 05:05 +01:00`, `2026-02-03 04:05 UTC`.
    At(Timestamp),
    /// A time or the start of a date in the local zone: `2026-02-03 04:05`, `2026-02-03`.
    Local(NaiveDateTime),
    /// A time on a day in the local zone, that many days ago: `today`, `yesterday`, `yesterday 17:53`.
    Day(u64, NaiveTime),
    /// A time of day as `log` and `watch` print it: `17:53`, `17:53:00`, `17:53:00 UTC`. It is one during the run, else on the
    /// day of its start; without a run, the last one.
    TimeOfDay(NaiveTime, Option<FixedOffset>),
    /// `now`, `10m`, `2h ago`, `1 min 5 s ago`.
    Ago(TimeDelta),
    /// The time since the start of the run: `+1m30s`, or `-5s` before it.
    FromStart(TimeDelta),
}

impl When {
    /// Parses a time from the command line; a number without a unit is invalid, except after a sign. `None` if it has
    /// none of the forms.
    pub fn parse(text: &str) -> Option<When> {
        let text = text.trim();
        let span = |text: &str| parse_span(&compact(text)?).and_then(TimeDelta::try_milliseconds);
        let (day, rest) = text.split_once(' ').unwrap_or((text, ""));
        let days = match day {
            "now" if rest.is_empty() => return Some(When::Ago(TimeDelta::zero())),
            "today" => Some(0),
            "yesterday" => Some(1),
            _ => None,
        };
        if let Some(days) = days {
            return if rest.is_empty() { Some(NaiveTime::MIN) } else { time_of_day(rest) }
                .map(|time| When::Day(days, time));
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
        parse(text).map(When::At).or_else(|| dated(text)).or_else(|| timed(text)).or(age)
    }

    /// The time that it refers to. `None` if it is out of range, or relative to a start that is not given.
    pub fn time(self, now: Timestamp, run: Option<RunTimes>) -> Option<Timestamp> {
        let time = match self {
            When::At(time) => Some(time),
            When::Local(naive) => resolve(naive),
            When::Day(days, time) => {
                let day = local(now).date_naive().checked_sub_days(Days::new(days))?;
                resolve(day.and_time(time))
            }
            When::TimeOfDay(time, offset) => of_day(time, offset, now, run),
            // An age that reaches further back than any date means the beginning.
            When::Ago(age) => Some(now.checked_sub(age).unwrap_or(Timestamp::MIN)),
            When::FromStart(span) => run?.start.checked_add(span),
        };
        // RFC 3339 has four digits of a year.
        time.filter(|time| time.utc().year() <= 9_999)
    }
}

/// Parses a time: see [`When`]. `run` is the run that it may be relative to.
pub fn parse_time(text: &str, run: Option<RunTimes>, now: Timestamp) -> Result<Timestamp> {
    let when = When::parse(text);
    let why = match (when, run) {
        (Some(When::FromStart(_)), None) => ": it is relative to the start of a run, and no run is named",
        _ => "",
    };
    let time = when.and_then(|when| when.time(now, run));
    let relative = run.map_or("", |_| RELATIVE_FORM);
    time.ok_or_else(|| {
        Error::usage(format!("invalid time {text:?}{why}")).hint(format!("{TIME_FORMS}{relative}"))
    })
}

/// The last such time of day.
fn of_day(
    time: NaiveTime,
    offset: Option<FixedOffset>,
    now: Timestamp,
    run: Option<RunTimes>,
) -> Option<Timestamp> {
    let date = |at: Timestamp| match offset {
        Some(offset) => at.utc().with_timezone(&offset).date_naive(),
        None => local(at).date_naive(),
    };
    let on = |day: NaiveDate| match offset {
        Some(offset) => {
            let time: Option<DateTime<FixedOffset>> =
                offset.from_local_datetime(&day.and_time(time)).single();
            time.map(|time| time.to_utc().into())
        }
        None => resolve(day.and_time(time)),
    };
    let Some(RunTimes { start, end }) = run else {
        let today = on(date(now))?;
        return if today <= now { Some(today) } else { on(date(now).pred_opt()?) };
    };
    let has_ended = end.is_some();
    // The minute in which it starts is during the run.
    let (start, end) = (start - TimeDelta::minutes(1), end.unwrap_or(now));
    let first = date(start);
    let mut during = first.iter_days().map_while(|day| on(day).filter(|time| *time <= end));
    during.find(|time| *time > start).or_else(|| {
        let day = date(start + TimeDelta::minutes(1));
        // In a running team, a later time of day belongs to yesterday.
        on(day).filter(|time| has_ended || *time <= now).or_else(|| on(day.pred_opt()?))
    })
}

/// `1 min 5 s` as `1m5s`. `None` if two numbers would become one.
pub fn compact(text: &str) -> Option<String> {
    let mut all = String::new();
    for word in text.split_whitespace() {
        if all.ends_with(is_number) && word.starts_with(is_number) {
            return None;
        }
        let unit = word.trim_start_matches(is_number);
        all += &word[..word.len() - unit.len()];
        all += match unit {
            "sec" | "secs" | "second" | "seconds" => "s",
            "min" | "mins" | "minute" | "minutes" => "m",
            "hour" | "hours" => "h",
            "day" | "days" => "d",
            "week" | "weeks" => "w",
            other => other,
        };
    }
    Some(all)
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

fn time_of_day(text: &str) -> Option<NaiveTime> {
    ["%H:%M:%S%.f", "%H:%M"].iter().find_map(|format| NaiveTime::parse_from_str(text, format).ok())
}

fn timed(text: &str) -> Option<When> {
    let (text, offset) = zone(text);
    time_of_day(text.trim_end()).map(|time| When::TimeOfDay(time, offset))
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
        let start = parse("2026-02-03T04:00:00Z").unwrap();
        during(text, Some(RunTimes { start, end: None }))
    }

    fn during(text: &str, run: Option<RunTimes>) -> Option<String> {
        let now = parse("2026-02-03T04:05:06Z").unwrap();
        When::parse(text)?.time(now, run).map(|time| time.to_string())
    }

    #[test]
    fn a_time_of_day_is_one_during_the_run_else_on_the_day_of_its_start() {
        let run = |start, end| Some(RunTimes { start: parse(start).unwrap(), end: parse(end) });
        let night = run("2026-01-30T23:50:20.5Z", "2026-01-31T00:20:00Z");
        for (time, meant) in [
            ("23:55:01", "2026-01-30T23:55:01.000Z"),
            ("00:10", "2026-01-31T00:10:00.000Z"),
            ("00:10:00.250", "2026-01-31T00:10:00.250Z"),
            ("01:10 +01:00", "2026-01-31T00:10:00.000Z"),
            // As it is printed at the start.
            ("23:50:20", "2026-01-30T23:50:20.000Z"),
            ("23:50", "2026-01-30T23:50:00.000Z"),
            // Before and after it.
            ("23:10", "2026-01-30T23:10:00.000Z"),
            ("04:40", "2026-01-30T04:40:00.000Z"),
        ] {
            assert_eq!(during(time, night).as_deref(), Some(meant), "{time}");
        }
        let long = run("2026-01-30T12:00:00.5Z", "2026-02-01T13:00:00Z");
        assert_eq!(during("12:00:00", long).unwrap(), "2026-01-30T12:00:00.000Z", "its own start");
        assert_eq!(during("11:00", long).unwrap(), "2026-01-31T11:00:00.000Z");
    }

    #[test]
    fn a_time_of_day_without_a_run_is_the_last_one() {
        assert_eq!(during("04:05:06", None).unwrap(), "2026-02-03T04:05:06.000Z");
        assert_eq!(during("17:53", None).unwrap(), "2026-02-02T17:53:00.000Z");
        assert_eq!(during("17:53:00 UTC", None).unwrap(), "2026-02-02T17:53:00.000Z");
        assert_eq!(during("yesterday 17:53", None).unwrap(), "2026-02-02T17:53:00.000Z");
        assert_eq!(during("today 17:53", None).unwrap(), "2026-02-03T17:53:00.000Z");
    }

    #[test]
    fn an_age_is_read_as_it_is_printed() {
        for (age, plain) in [
            ("1 min 5 s ago", "65s"),
            ("3 h 18 min", "198m"),
            ("2 d 4 h ago", "52h"),
            ("2 hours ago", "2h"),
            ("840 ms", "840ms"),
        ] {
            assert_eq!(at(age), at(plain), "{age}");
            assert!(at(age).is_some(), "{age}");
        }
        assert_eq!(at("+1 min 5 s"), at("+65s"));
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
            "24:40",
            "17:53:99",
            "17:53 ago",
            "today noon",
            "1 5 min",
            "é+01:00",
        ] {
            assert_eq!(When::parse(bad), None, "{bad}");
        }
    }
}
