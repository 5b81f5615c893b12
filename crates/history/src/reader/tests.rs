use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use teamkeep_model::time;
use teamkeep_store::archive::{SessionRecord, SessionRole};
use teamkeep_store::log::{Appending, Logs, parse_record};
use teamkeep_system::fs;
use teamkeep_system::paths::Paths;

fn at(seconds: i64) -> Timestamp {
    time::parse("2026-02-03T23:00:00Z").unwrap() + chrono::TimeDelta::seconds(seconds)
}

fn record(id: &str, at: Timestamp) -> String {
    format!(r#"{{"v":1,"at":"{at}","id":"{id}","event":"Stop","run":"r","payload":{{}}}}"#)
}

/// The log of a run in a store in this directory.
fn log(dir: &Path, name: &str) -> EventLog {
    let paths = Paths { store: dir.to_owned(), config: dir.to_owned(), client: None, warning: None };
    Logs::of(&paths).run(name).unwrap()
}

fn append(log: &EventLog, line: &str, segment_size: u64) {
    let how = Appending { segment_size, patience: Duration::from_secs(60), durable: false };
    assert!(!log.append(line.as_bytes(), at(0), how).unwrap().is_single);
}

/// Appends lines with these times, in seconds. The size 1 puts each in its own segment.
fn write(log: &EventLog, times: &[i64], segment_size: u64) {
    for time in times {
        append(log, &record(&time.to_string(), at(*time)), segment_size);
    }
}

/// Appends a line without the lock.
fn write_single(log: &EventLog, line: &str) {
    let _held = fs::lock(&log.dir().join("events.lock"), Duration::ZERO).unwrap().unwrap();
    let how = Appending { segment_size: 1, patience: Duration::ZERO, durable: false };
    assert!(log.append(line.as_bytes(), at(0), how).unwrap().is_single);
}

fn ids(reader: &mut Reader) -> Vec<String> {
    reader.by_ref().map(|line| line.recorded.id).collect()
}

fn read(logs: &[EventLog], range: Range) -> Vec<String> {
    let mut reader = Reader::of(logs, range);
    let ids = ids(&mut reader);
    assert!(reader.problems.is_empty(), "{:?}", reader.problems);
    ids
}

/// Writes a file of a log without the writer.
fn file(log: &EventLog, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    std::fs::create_dir_all(log.dir()).unwrap();
    std::fs::write(log.dir().join(name), content).unwrap();
    log.dir().join(name)
}

fn closed_name(count: u64) -> String {
    format!("events-{count:012}-{}.jsonl", "ab".repeat(16))
}

#[test]
fn a_missing_log_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(read(&[log(dir.path(), "none")], Range::default()), [""; 0]);
    assert_eq!(read(&[], Range::default()), [""; 0]);
}

#[test]
fn logs_are_merged_by_time_and_each_keeps_its_order_although_its_clock_was_set_back() {
    let dir = tempfile::tempdir().unwrap();
    for segment_size in [1_000_000, 1] {
        let logs = ["a", "b", "c"].map(|name| log(&dir.path().join(segment_size.to_string()), name));
        write(&logs[0], &[10, 40, 20, 50], segment_size);
        write(&logs[1], &[5, 15, 45, 60], segment_size);
        write(&logs[2], &[30], segment_size);
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let logs = order.map(|place: usize| logs[place].clone());
            let all = ["5", "10", "15", "30", "40", "20", "45", "50", "60"];
            assert_eq!(read(&logs, Range::default()), all, "{segment_size}");
        }
    }
}

#[test]
fn the_first_line_of_a_log_can_be_older_than_lines_before_it_in_another_log() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| log(dir.path(), name));
    // The clock was set back before the second log began.
    write(&a, &[100, 110, 10], 1);
    write(&b, &[20, 30, 120], 1);
    assert_eq!(read(&[a, b], Range::default()), ["20", "30", "100", "110", "10", "120"]);
}

#[test]
fn single_lines_are_read_at_their_time() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), "a");
    write(&log, &[10, 20, 30], 1);
    for time in [25, 5, 15, 35] {
        write_single(&log, &record(&time.to_string(), at(time)));
    }
    assert_eq!(read(&[log], Range::default()), ["5", "10", "15", "20", "25", "30", "35"]);
}

#[test]
fn a_log_that_begins_later_is_opened_when_its_time_comes() {
    let dir = tempfile::tempdir().unwrap();
    let logs: Vec<EventLog> = (0..50).map(|place| log(dir.path(), &place.to_string())).collect();
    for (place, log) in (0..).zip(&logs) {
        write(log, &[place * 10, place * 10 + 1], 1);
    }
    let mut reader = Reader::of(&logs, Range::default());
    assert_eq!((reader.next().unwrap().recorded.id, reader.open.len()), ("0".to_owned(), 1));
    let rest = ids(&mut reader);
    assert_eq!(rest.len(), 99);
    assert!(rest.is_sorted_by_key(|id| id.parse::<u64>().unwrap()));
    assert!(reader.problems.is_empty() && reader.waiting.is_empty());
}

#[test]
fn a_range_has_its_lines_of_all_logs_and_no_segment_that_begins_long_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| log(dir.path(), name));
    let hours = |hours: std::ops::Range<i64>| hours.map(|hour| hour * 3_600).collect::<Vec<_>>();
    write(&a, &hours(0..100), 1);
    write(&b, &hours(200..300), 1);
    let range = Range { since: Some(at(30 * 3_600)), until: Some(at(32 * 3_600)) };
    let logs = [a, b];
    let mut reader = Reader::of(&logs, range);
    let segments: usize = reader.waiting.iter().map(|source| source.segments.len()).sum();
    assert!(segments < 60, "{segments} of 200");
    assert_eq!(ids(&mut reader), [30, 31, 32].map(|hour| (hour * 3_600).to_string()));
    assert_eq!(read(&logs, Range { since: Some(at(298 * 3_600)), until: None }).len(), 2);
    assert_eq!(read(&logs, Range { since: None, until: Some(at(0)) }), ["0"]);
    // Nothing was written since.
    let later = Range { since: Some(time::parse("2999-01-01T00:00:00Z").unwrap()), until: None };
    assert!(Reader::of(&logs, later).waiting.is_empty());
}

#[test]
fn unreadable_lines_are_counted_and_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), "a");
    let one = record("1", at(0));
    let lines = [one.as_bytes(), b"[1]", b"{}", b"\xff", b"", br#"{"v":9}"#, b"{\"v\":1"].join(&b'\n');
    let old = file(&log, &closed_name(9), lines);
    file(&log, "events.jsonl", format!("{}\n{{\"v\":1,\"at", record("2", at(3_600))));
    file(&log, "notes.txt", "not ours");
    file(&log, "events.jsonl.gz", "not ours");

    let mut reader = Reader::of(std::slice::from_ref(&log), Range::default());
    assert_eq!(ids(&mut reader), ["1", "2"]);
    let problems = reader.problems;
    assert_eq!(problems.count, 5, "the last line of the current segment is being written");
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
fn a_damaged_compressed_segment_is_read_up_to_the_damage_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), "a");
    let times: Vec<i64> = (0..2_000).collect();
    write(&log, &times, 1_000_000);
    assert!(log.close(Duration::from_secs(60)).unwrap());
    write(&log, &[5_000], 1_000_000);
    log.compress().unwrap();
    let packed = log.segments().unwrap().remove(0).path();
    let bytes = std::fs::read(&packed).unwrap();
    std::fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
    let mut reader = Reader::of(&[log], Range::default());
    let ids = ids(&mut reader);
    assert!(ids.len() > 100 && ids.len() < 2_000, "{}", ids.len());
    assert_eq!(ids.last().unwrap(), "5000");
    assert!((1..=2).contains(&reader.problems.count), "{:?}", reader.problems);
}

#[test]
fn listed_segments_are_read_after_they_were_closed_compressed_or_removed() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), "a");
    let patience = Duration::from_secs(60);
    let times: Vec<i64> = (0..100).collect();
    write(&log, &times, 1_000_000);
    let expected: Vec<String> = times.iter().map(ToString::to_string).collect();
    // Each was listed before one more step.
    let mut readers = vec![Reader::of(std::slice::from_ref(&log), Range::default())];
    let mut listed = |log: &EventLog| readers.push(Reader::of(std::slice::from_ref(log), Range::default()));
    assert!(log.close(patience).unwrap());
    listed(&log);
    write(&log, &[200], 1_000_000);
    log.compress().unwrap();
    write(&log, &[300], 1);
    write(&log, &[400], 1);
    for reader in &mut readers {
        assert_eq!(ids(reader), expected);
        assert!(reader.problems.is_empty());
    }
    let mut early = Reader::of(std::slice::from_ref(&log), Range::default());
    for segment in log.segments().unwrap() {
        assert!(log.remove(&segment, patience).unwrap());
    }
    assert_eq!(ids(&mut early).len(), 0);
    assert!(early.problems.is_empty(), "retention removed them");
}

#[test]
fn a_reader_beside_writing_closing_and_compressing_gets_each_line_once_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), "a");
    let patience = Duration::from_secs(60);
    let written = std::sync::atomic::AtomicUsize::new(0);
    let (lines, padding) = (1_000, "x".repeat(300));
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for id in 0..lines {
                let line = record(&id.to_string(), at(id as i64)).replace("{}", &format!("{padding:?}"));
                append(&log, &line, 6_000);
                written.store(id + 1, std::sync::atomic::Ordering::SeqCst);
                if id % 50 == 0 {
                    log.close(patience).unwrap();
                }
            }
        });
        let log = &log;
        let tidying = scope.spawn(move || {
            while !writing.is_finished() {
                log.compress().unwrap();
            }
            writing.join().unwrap();
        });
        while !tidying.is_finished() {
            let before = written.load(std::sync::atomic::Ordering::SeqCst);
            let ids = read(std::slice::from_ref(log), Range::default());
            assert!(ids.len() >= before, "{} of {before}", ids.len());
            assert!((0..lines).zip(&ids).all(|(id, found)| *found == id.to_string()), "{ids:?}");
        }
    });
    assert_eq!(read(&[log], Range::default()).len(), lines);
}

#[test]
fn values_of_lines_come_in_the_order_of_the_segments_with_their_places() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), "a");
    let line = |id: &str, run: &str| format!(r#"{{"v":1,"id":"{id}","run":"{run}","payload":{{}}}}"#) + "\n";
    file(&log, &closed_name(3), line("1", "r") + "{broken\n" + &line("2", "other"));
    file(&log, &closed_name(5), line("3", "r") + "\n{\"v\":9}\n");
    file(&log, "events.jsonl", line("4", "\\u0072") + "{\"v\":1,\"id\":\"5\",\"run\":\"r");
    let parse = |segment: &Segment, line: &[u8]| {
        assert_eq!(segment.log, log.owner);
        let recorded = parse_record(line)?.filter(|recorded| recorded.run.as_deref() == Some("r"));
        Ok(recorded.map(|recorded| recorded.id))
    };
    let mut found = Vec::new();
    let segments = log.segments().unwrap();
    let problems = read_parallel(&segments, parse, |place, id| found.push((place, id))).unwrap();
    assert_eq!(found, [(0, "1".to_owned()), (1, "3".to_owned()), (2, "4".to_owned())]);
    let mut all = Reader::of(std::slice::from_ref(&log), Range::default());
    assert_eq!(all.by_ref().count(), 4);
    assert_eq!((problems.count, all.problems.count), (2, 2), "the last line is being written");
    let none = read_parallel(&[], parse, |_, _| panic!("nothing is there")).unwrap();
    assert!(none.is_empty());
}

#[test]
fn imported_events_come_first_and_can_be_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), "a");
    write(&log, &[10, 20], 1);
    file(&log, "events-imported.jsonl", record("30", at(30)) + "\n");
    assert_eq!(read(std::slice::from_ref(&log), Range::default()), ["30", "10", "20"]);
    let mut own = Reader::of_own(&[log], Range::default());
    assert_eq!(ids(&mut own), ["10", "20"]);
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
            let line = record(&id.to_string(), at(0));
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
        for name in ["events.jsonl", &closed_name(1)] {
            let log = log(dir.path(), name);
            file(&log, name, &bytes);
            prop_assert_eq!(&ids(&mut Reader::of(&[log], Range::default())), &expected);
        }
    }

    #[test]
    fn lines_of_any_size_and_time_are_read_in_the_order_of_their_log(
        segment_size in 0u64..3_000,
        calls in proptest::collection::vec((0usize..3, 0usize..1_500, -3_600i64..40_000), 1..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let logs = ["a", "b", "c"].map(|name| log(dir.path(), name));
        let (mut clock, mut expected) = (0, [Vec::new(), Vec::new(), Vec::new()]);
        for (id, (log, size, step)) in calls.iter().enumerate() {
            clock += step;
            let id = format!("{log}-{id}");
            let line = record(&id, at(clock)).replace("{}", &format!("{:?}", "x".repeat(*size)));
            append(&logs[*log], &line, segment_size);
            expected[*log].push(id);
        }
        let read = read(&logs, Range::default());
        prop_assert_eq!(read.len(), calls.len());
        for (log, expected) in expected.iter().enumerate() {
            let prefix = format!("{log}-");
            let own: Vec<&String> = read.iter().filter(|id| id.starts_with(&prefix)).collect();
            prop_assert_eq!(own, expected.iter().collect::<Vec<_>>());
        }
        for segment in logs.iter().flat_map(|log| log.segments().unwrap()) {
            let lines = segment.open().unwrap().count();
            prop_assert!(segment.size <= segment_size || lines == 1);
        }
    }
}

#[test]
fn a_range_includes_both_ends() {
    let parse = |text| time::parse(text).unwrap();
    let range =
        Range { since: Some(parse("2026-02-03T04:00:00Z")), until: Some(parse("2026-02-03T05:00:00Z")) };
    assert!(range.holds(range.since.unwrap()) && range.holds(range.until.unwrap()));
    assert!(!range.holds(parse("2026-02-03T05:00:00.001Z")) && !range.holds(Timestamp::default()));
    assert!(Range::default().holds(Timestamp::default()));
}

#[test]
fn an_event_without_a_run_belongs_to_the_next_of_its_session_else_to_the_last() {
    let run = |id: &str, hour: u32, session: &str| RunRecord {
        run: id.to_owned(),
        started_at: time::parse(&format!("2026-02-03T{hour:02}:00:00Z")).unwrap(),
        sessions: vec![SessionRecord::new(session.to_owned(), SessionRole::Lead)],
        ..RunRecord::default()
    };
    let all = [run("a", 4, "s"), run("b", 6, "s"), run("c", 6, "t")];
    let claims = Claims::new(&all);
    let of = |run, hour: u32| {
        claims.run_of(run, Some("s"), time::parse(&format!("2026-02-03T{hour:02}:30:00Z")).unwrap())
    };
    assert_eq!(of(None, 3).as_deref(), Some("a"));
    assert_eq!(of(None, 5).as_deref(), Some("b"));
    assert_eq!(of(None, 9).as_deref(), Some("b"));
    assert_eq!(of(Some("z"), 3).as_deref(), Some("z"));
    assert_eq!(claims.run_of(None, Some("u"), Timestamp::default()), None);
}
