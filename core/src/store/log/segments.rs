//! The segments of the log: their names, and which there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use chrono::{Days, NaiveDate, TimeDelta};
use serde::{Deserialize, Serialize};

use crate::model::event::Id;
use crate::sys::clock::Timestamp;
use crate::sys::fs;

const SUFFIX: &str = ".jsonl";
const SOLO: &str = "solo-";
/// `2026-02-03T040506789Z-`
const STAMP_FORMAT: &str = "%Y-%m-%dT%H%M%S%3fZ-";
const STAMP_CHARS: usize = 22;
const SALT: usize = 8;

/// The name of a segment: `2026-02-03T040506789Z-1a2b3c4d.jsonl`; `…Z-solo-1a2b3c4d.jsonl` for one that
/// holds a single line whose writer did not get the lock. Sorts by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SegmentName(String);

impl From<SegmentName> for String {
    fn from(name: SegmentName) -> String {
        name.0
    }
}

impl TryFrom<String> for SegmentName {
    type Error = String;

    fn try_from(text: String) -> Result<SegmentName, String> {
        SegmentName::parse(&text).ok_or_else(|| format!("{text:?} is not a segment's name"))
    }
}

impl SegmentName {
    /// The name of a segment that starts now. It sorts after `former`, unless that is so far ahead that the clock was set back.
    pub fn after(former: Option<&SegmentName>, at: Timestamp) -> SegmentName {
        let least = former.filter(|former| !former.is_ahead(at)).map(|former| former.start());
        let least = least.map_or(at, |start| start + TimeDelta::milliseconds(1));
        SegmentName::new(at.max(least), "")
    }

    pub fn single_line(at: Timestamp) -> SegmentName {
        SegmentName::new(at, SOLO)
    }

    fn new(at: Timestamp, mark: &str) -> SegmentName {
        // Whole milliseconds and a year of four digits, so that the name can be parsed at any time.
        let millis = at.millis().clamp(0, 253_402_300_799_999);
        let at = Timestamp::from_millis(millis).unwrap_or(at);
        let id = Id::new(at);
        let salt = id.as_str().split_at(id.as_str().len() - SALT).1;
        SegmentName(format!("{}{mark}{salt}{SUFFIX}", at.utc().format(STAMP_FORMAT)))
    }

    /// Takes a file name when it is exactly a segment's, and nothing that leads elsewhere.
    pub fn parse(text: &str) -> Option<SegmentName> {
        let (stamp, rest) = text.split_at_checked(STAMP_CHARS)?;
        let salt = rest.strip_suffix(SUFFIX)?;
        let salt = salt.strip_prefix(SOLO).unwrap_or(salt);
        let known = salt.len() == SALT && salt.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
        (known && start_of(stamp).is_some()).then(|| SegmentName(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn start(&self) -> Timestamp {
        start_of(&self.0[..STAMP_CHARS]).unwrap_or_default()
    }

    /// The day on which it began. Its lines are of this day or, where calls overlapped midnight, of the one before.
    pub fn day(&self) -> NaiveDate {
        self.start().date()
    }

    /// Whether it holds a single line whose writer did not get the lock.
    pub fn is_single_line(&self) -> bool {
        self.0[STAMP_CHARS..].starts_with(SOLO)
    }

    /// Whether a line belongs here by its day. Calls that overlap midnight must not begin a segment each.
    pub fn has_room(&self, at: Timestamp) -> bool {
        at.date() <= self.day() && !self.is_ahead(at)
    }

    /// Whether it began more than a day after this instant.
    fn is_ahead(&self, at: Timestamp) -> bool {
        self.day().checked_sub_days(Days::new(1)).is_some_and(|before| at.date() < before)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The time of a stamp; `None` unless it is exactly as [`STAMP_FORMAT`] writes it. Each hook call reads one, so it does without
/// chrono's parser.
fn start_of(stamp: &str) -> Option<Timestamp> {
    let is_written = |(at, byte): (usize, u8)| match at {
        4 | 7 | 21 => byte == b'-',
        10 => byte == b'T',
        20 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    if stamp.len() != STAMP_CHARS || !stamp.bytes().enumerate().all(is_written) {
        return None;
    }
    let number = |range: std::ops::Range<usize>| stamp[range].parse::<u32>().ok();
    let date = NaiveDate::from_ymd_opt(number(0..4)? as i32, number(5..7)?, number(8..10)?)?;
    let time = date.and_hms_milli_opt(number(11..13)?, number(13..15)?, number(15..17)?, number(17..20)?)?;
    Some(time.and_utc().into())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub name: SegmentName,
    pub size: u64,
}

impl Segment {
    pub fn path(&self, dir: &Path) -> PathBuf {
        dir.join(self.name.as_str())
    }
}

pub fn size(dir: &Path) -> u64 {
    list(dir).unwrap_or_default().iter().map(|segment| segment.size).sum()
}

/// Lists the segments, oldest first, without foreign files and links. A missing directory has none.
pub fn list(dir: &Path) -> io::Result<Vec<Segment>> {
    let segment = |entry: fs_err::DirEntry| {
        let name = SegmentName::parse(entry.file_name().to_str()?)?;
        // One that is gone by now was pruned.
        let metadata = entry.metadata().ok()?;
        metadata.is_file().then_some(Segment { name, size: metadata.len() })
    };
    let mut segments: Vec<Segment> = fs::list(dir)?.into_iter().filter_map(segment).collect();
    segments.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(segments)
}

/// The newest segment that more than one line may go to.
pub(super) fn newest(dir: &Path) -> io::Result<Option<SegmentName>> {
    Ok(list(dir)?.into_iter().map(|segment| segment.name).rfind(|name| !name.is_single_line()))
}

/// From one instant to another, both included; without one it is open on that side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl Range {
    /// Whether a segment can have lines of this range, from its name only. Its lines are of its day or the one before.
    pub fn overlaps(&self, name: &SegmentName) -> bool {
        let over = self.since.is_some_and(|since| since.date() > name.day());
        let first = name.day().checked_sub_days(Days::new(1));
        let to_come = self.until.is_some_and(|until| first.is_some_and(|first| until.date() < first));
        !over && !to_come
    }

    /// Whether a line of this time is in the range. A line with an invalid time is only in the open range.
    pub fn holds(&self, at: Timestamp) -> bool {
        if *self == Range::default() {
            return true;
        }
        let inside = |at: Timestamp| {
            self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at <= until)
        };
        at.is_valid() && inside(at)
    }
}

const PART_PREFIX: &str = "events-";
const PART_SUFFIX: &str = ".gz";

/// The parts of segments in the directories of some runs.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    dirs: Vec<PathBuf>,
}

pub fn part_name(segment: &SegmentName) -> String {
    format!("{PART_PREFIX}{segment}{PART_SUFFIX}")
}

pub fn parts_in(dir: &Path) -> BTreeMap<SegmentName, PathBuf> {
    let named = fs::entries(dir).filter_map(|entry| {
        let name = entry.file_name();
        let segment = name
            .to_str()?
            .strip_prefix(PART_PREFIX)?
            .strip_suffix(PART_SUFFIX)
            .and_then(SegmentName::parse)?;
        entry.file_type().is_ok_and(|kind| kind.is_file()).then(|| (segment, entry.path()))
    });
    named.collect()
}

impl Parts {
    pub fn of(dirs: impl IntoIterator<Item = PathBuf>) -> Parts {
        Parts { dirs: dirs.into_iter().collect() }
    }

    pub fn segments(&self) -> BTreeSet<SegmentName> {
        self.dirs.iter().flat_map(|dir| parts_in(dir).into_keys()).collect()
    }

    pub fn of_segment(&self, segment: &SegmentName) -> Vec<PathBuf> {
        let name = part_name(segment);
        let paths = self.dirs.iter().map(|dir| dir.join(&name));
        paths.filter(|path| path.symlink_metadata().is_ok_and(|there| there.is_file())).collect()
    }

    /// The segments of the log and, with size 0, those of which only parts are left, the oldest first.
    pub(super) fn with_log(&self, dir: &Path) -> io::Result<Vec<Segment>> {
        // The log is listed first: if a segment is removed after that, its parts already exist.
        let mut all = list(dir)?;
        let mut removed = self.segments();
        removed.retain(|name| all.binary_search_by(|segment| segment.name.cmp(name)).is_err());
        all.extend(removed.into_iter().map(|name| Segment { name, size: 0 }));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::parse;

    #[test]
    fn a_segment_name_is_parsed_as_it_was_created() {
        let at = parse("2026-02-03T04:05:06.789Z").unwrap();
        let name = SegmentName::after(None, at);
        assert!(name.as_str().starts_with("2026-02-03T040506789Z-"), "{name}");
        assert_eq!(
            (SegmentName::parse(name.as_str()), name.start(), name.is_single_line()),
            (Some(name.clone()), at, false)
        );
        let solo = SegmentName::single_line(at);
        assert_eq!(
            (SegmentName::parse(solo.as_str()), solo.start(), solo.is_single_line()),
            (Some(solo.clone()), at, true)
        );
        for odd in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2026-06-30T23:59:60.5Z"] {
            let name = SegmentName::after(Some(&name), parse(odd).unwrap());
            assert!(SegmentName::parse(name.as_str()).is_some(), "{name}");
        }
    }

    #[test]
    fn a_foreign_file_name_is_rejected() {
        for bad in [
            "",
            ".lock",
            "../2026-02-03T040506789Z-1a2b3c4d.jsonl",
            "2026-02-03T040506789Z-../../../x.jsonl",
            "2026-02-30T040506789Z-1a2b3c4d.jsonl",
            "2026-02-03T040506789Z-1A2B3C4D.jsonl",
            "2026-02-03T040506789Z-1a2b3c4.jsonl",
            "2026-02-03T040506789Z-1a2b3c4d.jsonl.gz",
            "+026-02-03T040506789Z-1a2b3c4d.jsonl",
            "2026-02-03T0405067ü9Z-1a2b3c4d.jsonl",
            "2026-02-03T040506789Z-1a2b/c4d.jsonl",
        ] {
            assert_eq!(SegmentName::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_later_segment_sorts_after_the_former_also_when_the_clock_goes_back() {
        let first = SegmentName::after(None, parse("2026-02-03T04:05:06.789Z").unwrap());
        let second = SegmentName::after(Some(&first), parse("2026-02-03T04:05:06.789Z").unwrap());
        let third = SegmentName::after(Some(&second), parse("2026-02-02T23:00:00Z").unwrap());
        assert!(first < second && second < third);
        let corrected = SegmentName::after(Some(&first), parse("2026-01-01T00:00:00Z").unwrap());
        assert!(corrected < first, "a clock that was far ahead does not name segments for ever");
    }

    #[test]
    fn a_segment_overlaps_a_range_with_its_day_or_the_day_before() {
        let name = SegmentName::parse("2026-02-03T040506789Z-1a2b3c4d.jsonl").unwrap();
        let range = |since: &str, until: &str| Range { since: parse(since), until: parse(until) };
        assert!(Range::default().overlaps(&name));
        assert!(range("2026-02-03T23:59:59Z", "").overlaps(&name));
        assert!(!range("2026-02-04T00:00:00Z", "").overlaps(&name));
        assert!(range("", "2026-02-02T00:00:00Z").overlaps(&name), "calls that overlap midnight");
        assert!(!range("", "2026-02-01T23:59:59Z").overlaps(&name));
    }

    #[test]
    fn a_range_includes_both_ends() {
        let range = Range { since: parse("2026-02-03T04:00:00Z"), until: parse("2026-02-03T05:00:00Z") };
        assert!(range.holds(range.since.unwrap()) && range.holds(range.until.unwrap()));
        assert!(
            !range.holds(parse("2026-02-03T05:00:00.001Z").unwrap()) && !range.holds(Timestamp::default())
        );
        assert!(Range::default().holds(Timestamp::default()));
    }
}
