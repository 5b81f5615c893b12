use std::time::Duration;

use proptest::prelude::*;

use super::super::ReadError;
use super::*;
use crate::config;
use crate::store::log::{Log, Parts};
use crate::sys::clock::{self, Timestamp};

fn at(seconds: i64) -> Timestamp {
    clock::parse("2026-02-03T23:00:00Z").unwrap() + chrono::TimeDelta::seconds(seconds)
}

fn record(id: usize, at: Timestamp, padding: usize) -> String {
    let padding = "x".repeat(padding);
    format!(
        r#"{{"v":1,"at":"{at}","id":"{id}","event":"Stop","session":null,"team":null,"actor":{{"name":null,"id":null,"kind":"unknown"}},"payload":{{"p":"{padding}"}}}}"#
    )
}

fn ids(dir: &Path) -> (Vec<String>, ReadErrors) {
    let mut reader = Reader::open(dir, Range::default()).unwrap();
    let ids = reader.by_ref().map(|line| line.recorded.id).collect();
    (ids, reader.problems)
}

#[test]
fn a_missing_log_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ids(&dir.path().join("none")), (Vec::new(), ReadErrors::default()));
}

#[test]
fn unreadable_lines_are_reported_and_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("2026-02-03T230000000Z-aaaaaaaa.jsonl");
    let new = dir.path().join("2026-02-04T000000000Z-aaaaaaaa.jsonl");
    let one = record(1, at(0), 0);
    let lines = [one.as_bytes(), b"[1]", b"{}", b"\xff", b"", br#"{"v":9}"#, b"{\"v\":1"].join(&b'\n');
    std::fs::write(&old, lines).unwrap();
    std::fs::write(&new, format!("{}\n{{\"v\":1,\"at", record(2, at(3600), 0))).unwrap();
    std::fs::write(dir.path().join("notes.txt"), "not ours").unwrap();
    let linked = dir.path().join("2026-02-03T230000001Z-aaaaaaaa.jsonl");
    std::os::unix::fs::symlink(&old, linked).unwrap();

    let (ids, problems) = ids(dir.path());
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(problems.count, 5);
    let shown: Vec<String> = problems.first.iter().map(ReadError::to_string).collect();
    let place = |line: u8, why: &str| format!("{}:{line}: {why}; the line is passed over", old.display());
    assert_eq!(
        shown,
        [
            place(2, "no JSON object"),
            place(3, "no record: it has no version"),
            place(4, "no UTF-8: invalid utf-8 sequence of 1 bytes from index 0"),
            place(6, "format version 9: a newer teamkeep wrote it, and is needed to read it"),
            place(7, "cut off: its writer was probably killed"),
        ]
    );
}

#[test]
fn a_range_of_time_opens_only_the_segments_of_its_days() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &config::Log::default());
    for hour in 0..100 {
        let at = at(hour * 3600);
        log.append(record(hour as usize, at, 0).as_bytes(), at).unwrap();
    }
    let range = Range { since: Some(at(30 * 3600)), until: Some(at(32 * 3600)) };
    let reader = Reader::open(dir.path(), range).unwrap();
    assert!(reader.segments.len() < 4, "of five");
    let ids: Vec<String> = reader.map(|line| line.recorded.id).collect();
    assert_eq!(ids, ["30", "31", "32"]);
}

#[test]
fn wanted_lines_come_in_order_and_invalid_lines_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let line = |id: &str, run: &str| format!(r#"{{"v":1,"id":"{id}","run":"{run}","payload":{{}}}}"#) + "\n";
    let segments = [
        ("2026-02-03T000000000Z-aaaaaaaa.jsonl", line("1", "r") + "{broken\n" + &line("2", "other")),
        ("2026-02-03T010000000Z-aaaaaaaa.jsonl", line("3", "r") + "\n{\"v\":9}\n"),
        ("2026-02-03T020000000Z-aaaaaaaa.jsonl", line("4", "\\u0072") + "{\"v\":1,\"id\":\"5\",\"run\":\"r"),
    ];
    for (name, text) in &segments {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let wants = |glance: &LineHeader<'_>| glance.run.as_deref() == Some("r");
    let mut ids = Vec::new();
    let problems =
        filter_parallel(dir.path(), &Parts::default(), wants, |line| line.recorded.id, |id| ids.push(id))
            .unwrap();
    assert_eq!(ids, ["1", "3", "4"]);
    let mut all = Reader::open(dir.path(), Range::default()).unwrap();
    assert_eq!(all.by_ref().count(), 4);
    assert_eq!((problems.count, all.problems.count), (2, 2), "the last line is being written");
    let each = |()| panic!("nothing is there");
    let none = filter_parallel(&dir.path().join("none"), &Parts::default(), wants, |_| (), each).unwrap();
    assert!(none.is_empty());
}

/// A piece of a segment: a whole line, a line cut short, or garbage.
fn piece() -> impl Strategy<Value = (u8, usize, Vec<u8>)> {
    (0u8..3, 0usize..400, proptest::collection::vec(any::<u8>(), 0..40))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_complete_line_is_read_and_nothing_else(pieces in proptest::collection::vec(piece(), 0..30), ends in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        for (id, (kind, cut, garbage)) in pieces.iter().enumerate() {
            let line = record(id, at(0), *cut);
            match kind {
                0 => {
                    expected.push(id.to_string());
                    bytes.extend_from_slice(line.as_bytes());
                }
                1 => bytes.extend_from_slice(&line.as_bytes()[..*cut % line.len()]),
                _ => bytes.extend_from_slice(garbage),
            }
            bytes.push(b'\n');
        }
        if !ends {
            bytes.pop();
        }
        std::fs::write(dir.path().join("2026-02-03T230000000Z-aaaaaaaa.jsonl"), bytes).unwrap();
        prop_assert_eq!(ids(dir.path()).0, expected);
    }

    #[test]
    fn lines_of_any_size_and_time_are_read_in_order(
        limit in 0u64..3000,
        calls in proptest::collection::vec((0usize..1500, -3600i64..40_000), 1..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let limits = config::Log { segment_size: limit, lock_patience: Duration::from_secs(60), ..config::Log::default() };
        let log = Log::open(dir.path(), &limits);
        let mut clock = 0;
        for (id, (size, step)) in calls.iter().enumerate() {
            clock += step;
            let notes = log.append(record(id, at(clock), *size).as_bytes(), at(clock)).unwrap().notes;
            prop_assert!(notes.iter().all(|note| note.text.starts_with("the clock went back to ")));
        }
        let (ids, problems) = ids(dir.path());
        prop_assert_eq!(ids, (0..calls.len()).map(|id| id.to_string()).collect::<Vec<_>>());
        prop_assert!(problems.is_empty());
        for segment in crate::store::log::list(dir.path()).unwrap() {
            let lines = std::fs::read_to_string(segment.path(dir.path())).unwrap().lines().count();
            prop_assert!(segment.size <= limit || lines == 1);
            let reader = Reader::over(dir.path(), &Parts::default(), vec![segment.clone()], None, Range::default());
            for line in reader {
                let day = line.recorded.at.date();
                prop_assert!(day == segment.name.day() || day.succ_opt() == Some(segment.name.day()));
            }
        }
    }
}
