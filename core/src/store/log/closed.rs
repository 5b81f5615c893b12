//! The segments that do not change any more.

use std::io;
use std::path::Path;

use chrono::TimeDelta;
use fs_err::os::unix::fs::FileExt;

use super::segments::{Segment, list};
use super::writer::active_segment;
use crate::sys::clock::Timestamp;
use crate::sys::fs;

/// Age from which on no process writes to a segment of a single line any more.
const SINGLE_LINE_AGE: TimeDelta = TimeDelta::minutes(1);
/// How often the segments are listed if writers begin new ones at the same time.
const MAX_LISTINGS: usize = 100;

/// Lists the segments that do not change any more, oldest first, without empty ones: all but the current segment, and those
/// of a single line once it is complete and a minute old. Takes no lock.
pub fn closed_segments(dir: &Path, now: Timestamp) -> io::Result<Vec<Segment>> {
    let mut current = active_segment(dir);
    for _ in 0..MAX_LISTINGS {
        let mut segments = list(dir)?;
        let active = active_segment(dir);
        // If it changed, the size of one that was current at first may be out of date.
        if active == current {
            segments.retain(|segment| {
                let is_closed = match segment.name.is_single_line() {
                    true => segment.name.start() + SINGLE_LINE_AGE < now && is_complete(dir, segment),
                    false => Some(&segment.name) != current.as_ref(),
                };
                segment.size > 0 && is_closed
            });
            return Ok(segments);
        }
        current = active;
    }
    Err(fs::with_path(io::ErrorKind::ResourceBusy.into(), "list the closed segments of", dir))
}

/// Whether its last line has a line break.
fn is_complete(dir: &Path, segment: &Segment) -> bool {
    let mut last = [0];
    let read = fs::open_regular(&segment.path(dir))
        .and_then(|file| file.read_exact_at(&mut last, segment.size.saturating_sub(1)));
    read.is_ok() && last == *b"\n"
}

#[cfg(test)]
mod tests {
    use super::super::{ExclusiveLog, Log, SegmentName};
    use super::*;
    use crate::config;
    use crate::sys::clock::parse;

    fn noon() -> Timestamp {
        parse("2026-02-03T12:00:00Z").unwrap()
    }

    fn close(dir: &Path, at: Timestamp) -> Option<SegmentName> {
        let log = ExclusiveLog::take(dir, std::time::Duration::from_secs(60)).unwrap().unwrap();
        log.close_current(at).unwrap()
    }

    fn names(dir: &Path) -> Vec<SegmentName> {
        let closed = closed_segments(dir, noon() + TimeDelta::hours(1)).unwrap();
        closed.into_iter().map(|segment| segment.name).collect()
    }

    #[test]
    fn a_closed_segment_gets_no_further_line() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), &config::Log::default());
        assert_eq!(close(dir.path(), noon()), None, "there is no segment");
        let first = log.append(b"one", noon()).unwrap().segment;
        assert_eq!(names(dir.path()), []);
        assert_eq!(close(dir.path(), noon()), Some(first.clone()));
        assert_eq!(close(dir.path(), noon()), None, "the next one is empty");
        assert_eq!(names(dir.path()), std::slice::from_ref(&first));
        let second = log.append(b"two", noon()).unwrap().segment;
        assert!(second > first);
        assert_eq!(names(dir.path()), [first]);
    }

    #[test]
    fn a_closed_segment_stays_closed_without_the_lock_s_file_and_after_a_crash() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), &config::Log::default());
        let first = log.append(b"one", noon()).unwrap().segment;
        close(dir.path(), noon());
        std::fs::remove_file(dir.path().join(".lock")).unwrap();
        let second = log.append(b"two", noon()).unwrap().segment;
        assert_ne!(second, first);
        // A closer that was killed after it named the next segment: the file does not exist.
        close(dir.path(), noon());
        let next = list(dir.path()).unwrap().pop().unwrap();
        std::fs::remove_file(next.path(dir.path())).unwrap();
        assert_eq!(close(dir.path(), noon()), None);
        assert_eq!(names(dir.path()), [first, second]);
        assert_eq!(log.append(b"three", noon()).unwrap().segment, next.name);
    }

    #[test]
    fn a_segment_of_a_single_line_is_closed_once_it_is_complete_and_a_minute_old() {
        let dir = tempfile::tempdir().unwrap();
        let solo = SegmentName::single_line(noon());
        let path = dir.path().join(solo.as_str());
        let closed =
            |seconds| closed_segments(dir.path(), noon() + TimeDelta::seconds(seconds)).unwrap().len();
        std::fs::write(&path, "half").unwrap();
        assert_eq!(closed(3_600), 0);
        std::fs::write(&path, "whole\n").unwrap();
        assert_eq!((closed(59), closed(61)), (0, 1));
    }
}
