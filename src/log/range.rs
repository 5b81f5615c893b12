//! A range of time, and which segments can hold lines of it.

use chrono::Days;

use super::SegmentName;
use crate::clock::{self, Time};

/// From one instant to another, both included; without one it is open on that side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// The first instant.
    pub since: Option<Time>,
    /// The last instant.
    pub until: Option<Time>,
}

impl Range {
    /// Whether a segment can have lines of this range, from its name only. Its lines are of its day or the one before.
    pub fn overlaps(&self, name: &SegmentName) -> bool {
        let over = self.since.is_some_and(|since| since.date_naive() > name.day());
        let first = name.day().checked_sub_days(Days::new(1));
        let to_come = self.until.is_some_and(|until| first.is_some_and(|first| until.date_naive() < first));
        !over && !to_come
    }

    /// Whether a line of this time is in the range. A line with an invalid time is only in the open range.
    pub fn holds(&self, at: &str) -> bool {
        if *self == Range::default() {
            return true;
        }
        let inside = |at: Time| {
            self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at <= until)
        };
        clock::parse(at).is_some_and(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_opened_when_its_day_or_the_one_before_is_asked_for() {
        let name = SegmentName::parse("2026-02-03T040506789Z-1a2b3c4d.jsonl").unwrap();
        let range =
            |since: &str, until: &str| Range { since: clock::parse(since), until: clock::parse(until) };
        assert!(Range::default().overlaps(&name));
        assert!(range("2026-02-03T23:59:59Z", "").overlaps(&name));
        assert!(!range("2026-02-04T00:00:00Z", "").overlaps(&name));
        assert!(range("", "2026-02-02T00:00:00Z").overlaps(&name), "calls that overlap midnight");
        assert!(!range("", "2026-02-01T23:59:59Z").overlaps(&name));
    }

    #[test]
    fn both_ends_are_included() {
        let range = Range {
            since: clock::parse("2026-02-03T04:00:00Z"),
            until: clock::parse("2026-02-03T05:00:00Z"),
        };
        assert!(range.holds("2026-02-03T04:00:00.000Z") && range.holds("2026-02-03T05:00:00.000Z"));
        assert!(!range.holds("2026-02-03T05:00:00.001Z") && !range.holds("yesterday"));
        assert!(Range::default().holds("yesterday"));
    }
}
