use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::*;
use teamkeep_model::event::SafeName;
use teamkeep_model::time;
use teamkeep_store::log::{Appending, MAX_MARK_BYTES, tail};
use teamkeep_system::fs;
use teamkeep_system::paths::Paths;

const PATIENCE: Duration = Duration::from_secs(60);

/// A line of this time, which is its ID, in seconds.
fn record(id: u32) -> String {
    let at = time::parse("2026-02-03T04:05:06Z").unwrap() + chrono::TimeDelta::seconds(id.into());
    format!(r#"{{"v":1,"at":"{at}","id":"{id}","event":"Stop","payload":{{}}}}"#)
}

/// The largest size of two lines with their marks.
fn two_lines() -> u64 {
    2 * (record(1_000).len() + 1 + MAX_MARK_BYTES) as u64
}

fn logs(dir: &Path) -> Logs {
    Logs::of(&Paths { store: dir.to_owned(), config: dir.to_owned(), client: None, warning: None })
}

fn follower(dir: &Path) -> Follower {
    Follower::new(&logs(dir), Range::default())
}

fn session(dir: &Path, name: &str) -> EventLog {
    logs(dir).session(SafeName::new(name).as_ref())
}

fn append_line(log: &EventLog, line: &str, segment_size: u64) {
    let how = Appending { segment_size, patience: PATIENCE, durable: false };
    assert!(!log.append(line.as_bytes(), Timestamp::default(), how).unwrap().is_single);
}

fn append(log: &EventLog, ids: std::ops::Range<u32>, segment_size: u64) {
    ids.for_each(|id| append_line(log, &record(id), segment_size));
}

fn append_single(log: &EventLog, id: u32) {
    let _held = fs::lock(&log.dir().join("events.lock"), Duration::ZERO).unwrap().unwrap();
    let how = Appending { segment_size: 1, patience: Duration::ZERO, durable: false };
    let at = time::parse("2026-02-03T04:05:06Z").unwrap();
    assert!(log.append(record(id).as_bytes(), at, how).unwrap().is_single);
}

fn write_end(log: &EventLog, bytes: &[u8]) {
    let path = log.dir().join("events.jsonl");
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn polled(follower: &mut Follower) -> Vec<u32> {
    let mut ids = Vec::new();
    let add = |line: Line| {
        ids.push(line.recorded.id.parse().unwrap());
        Ok(())
    };
    follower.poll(add).unwrap();
    ids
}

fn ids(lines: &[Line]) -> Vec<u32> {
    lines.iter().map(|line| line.recorded.id.parse().unwrap()).collect()
}

const NONE: [u32; 0] = [];

#[test]
fn the_last_lines_come_from_as_many_segments_as_they_need() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    append(&log, 0..9, two_lines());
    let logs = [log];
    for count in [0, 1, 2, 5, 9, 20] {
        let (found, problems) = last(&logs, Range::default(), count, |_| true);
        assert_eq!(ids(&found), (9 - count.min(9) as u32..9).collect::<Vec<_>>());
        assert!(problems.is_empty());
    }
    let is_even = |line: &Line| line.recorded.id.parse::<u32>().unwrap() % 2 == 0;
    assert_eq!(ids(&last(&logs, Range::default(), 3, is_even).0), [4, 6, 8]);
    assert!(last(&[], Range::default(), 3, |_| true).0.is_empty());
}

#[test]
fn the_last_lines_of_one_moment_keep_their_order_across_segments() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    let at = record(0);
    let time = at.split("\"id\"").next().unwrap();
    for id in 0..9 {
        append_line(
            &log,
            &format!("{time}\"id\":\"{id}\",\"event\":\"Stop\",\"payload\":{{}}}}"),
            two_lines(),
        );
    }
    for count in 1..10 {
        let (found, _) = last(std::slice::from_ref(&log), Range::default(), count, |_| true);
        assert_eq!(ids(&found), (9 - count as u32..9).collect::<Vec<_>>());
    }
}

#[test]
fn the_last_lines_of_several_logs_are_those_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| session(dir.path(), name));
    append(&a, 0..4, 1);
    append(&b, 2..6, 1);
    append(&a, 6..8, 1);
    append_single(&b, 7);
    let all = logs(dir.path()).all().unwrap();
    let found = last(&all, Range::default(), 6, |_| true).0;
    assert_eq!(ids(&found), [3, 4, 5, 6, 7, 7]);
    let until = Range { until: Some(found[1].recorded.at), since: None };
    assert_eq!(ids(&last(&all, until, 3, |_| true).0), [3, 3, 4]);
}

#[test]
fn each_line_is_followed_once_across_new_logs_and_segments() {
    let dir = tempfile::tempdir().unwrap();
    let mut early = follower(dir.path());
    assert_eq!(polled(&mut early), NONE, "the directory is not even there");
    let [a, b] = ["a", "b"].map(|name| session(dir.path(), name));
    append(&a, 0..5, two_lines());
    let mut late = follower(dir.path());
    late.skip_to_end().unwrap();
    assert_eq!(polled(&mut early), [0, 1, 2, 3, 4]);
    append(&a, 5..10, two_lines());
    append(&b, 6..8, 1);
    append_single(&b, 8);
    assert!(a.close(PATIENCE).unwrap());
    for follower in [&mut early, &mut late] {
        assert_eq!(polled(follower), [5, 6, 6, 7, 7, 8, 8, 9]);
        assert_eq!(polled(follower), NONE);
    }
    append(&a, 10..100, 1_000_000);
    assert_eq!(polled(&mut early).len(), 90);
    // Closed and compressed after it was read in part, and continued.
    append(&a, 100..102, 1_000_000);
    assert!(a.close(PATIENCE).unwrap());
    a.compress().unwrap();
    assert!(a.segments().unwrap().iter().any(|segment| segment.is_packed));
    append(&a, 102..103, 1_000_000);
    assert_eq!(polled(&mut early), [100, 101, 102]);
    assert_eq!(polled(&mut late), (10..103).collect::<Vec<_>>());
    assert!(early.problems.is_empty() && late.problems.is_empty());
}

#[test]
fn a_line_is_followed_when_its_line_break_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    append(&log, 0..2, 1_000_000);
    let mut early = follower(dir.path());
    assert_eq!(polled(&mut early), [0, 1]);
    let line = record(2);
    write_end(&log, &line.as_bytes()[..9]);
    let mut late = follower(dir.path());
    late.skip_to_end().unwrap();
    for follower in [&mut early, &mut late] {
        assert_eq!(polled(follower), NONE);
    }
    write_end(&log, &line.as_bytes()[9..]);
    for follower in [&mut early, &mut late] {
        assert_eq!(polled(follower), NONE);
    }
    write_end(&log, b"\nnonsense\n");
    for follower in [&mut early, &mut late] {
        assert_eq!(polled(follower), [2]);
        assert_eq!((follower.problems.count, follower.problems.first[0].line), (1, Some(4)));
        assert_eq!(polled(follower), NONE);
    }
}

#[test]
fn what_killed_writers_left_hides_no_line() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    append(&log, 0..1, 1_000_000);
    let mut follower = follower(dir.path());
    follower.skip_to_end().unwrap();
    append(&log, 1..2, 1_000_000);
    // Its writer did not write the line break, and the next one begins a segment.
    let path = log.dir().join("events.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(polled(&mut follower), NONE);
    let how = Appending { segment_size: 1, patience: PATIENCE, durable: false };
    log.append(record(2).as_bytes(), Timestamp::default(), how).unwrap();
    assert_eq!(polled(&mut follower), [1, 2]);
    write_end(&log, b"{\"v\":1,\"id");
    log.append(record(3).as_bytes(), Timestamp::default(), how).unwrap();
    assert_eq!(polled(&mut follower), [3]);
    assert_eq!(follower.problems.count, 1);
}

#[test]
fn a_log_that_was_removed_and_begun_again_is_followed_from_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    append(&log, 0..5, 1_000_000);
    let mut follower = follower(dir.path());
    follower.skip_to_end().unwrap();
    for segment in log.segments().unwrap() {
        assert!(log.remove(&segment, PATIENCE).unwrap());
    }
    append(&log, 5..7, 1_000_000);
    assert_eq!(polled(&mut follower), [5, 6]);
    append(&log, 7..8, 1_000_000);
    assert_eq!(polled(&mut follower), [7]);
}

#[test]
fn a_segment_that_cannot_be_opened_is_counted_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    append(&log, 0..100, 1_000_000);
    assert!(log.close(PATIENCE).unwrap());
    log.compress().unwrap();
    append(&log, 100..102, 1_000_000);
    let packed = log.segments().unwrap()[0].path();
    std::fs::write(&packed, "not compressed").unwrap();
    std::fs::create_dir(log.dir().join(format!("events-000000000200-{}.jsonl", "ab".repeat(16)))).unwrap();
    let (early, mut late) = (follower(dir.path()), follower(dir.path()));
    late.skip_to_end().unwrap();
    for (mut follower, expected, problems) in [(early, vec![100, 101], 1), (late, vec![], 0)] {
        assert_eq!(polled(&mut follower), expected);
        assert_eq!(polled(&mut follower), NONE);
        assert_eq!(follower.problems.count, problems);
    }
}

#[test]
fn a_range_is_followed_without_the_lines_outside_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    append(&log, 0..9, two_lines());
    let at =
        |id: u32| teamkeep_store::log::parse(Some(record(id).into_bytes())).unwrap().unwrap().recorded.at;
    let mut follower = Follower::new(&logs(dir.path()), Range { since: Some(at(3)), until: Some(at(5)) });
    assert_eq!(polled(&mut follower), [3, 4, 5]);
    append(&log, 4..7, two_lines());
    assert_eq!(polled(&mut follower), [4, 5]);
}

#[test]
fn a_follower_beside_writing_closing_and_compressing_gets_each_line_once_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    let (lines, padding) = (1_000, format!("{:?}", "x".repeat(300)));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let (mut early, mut followers) = (follower(dir.path()), Vec::new());
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for id in 0..lines {
                append_line(&log, &record(id).replace("{}", &padding), 6_000);
                if id % 50 == 0 {
                    log.close(PATIENCE).unwrap();
                }
            }
            is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                log.compress().unwrap();
            }
        });
        while !writing.is_finished() {
            found.extend(polled(&mut early));
            if followers.len() < 20 {
                let mut late = follower(dir.path());
                late.skip_to_end().unwrap();
                followers.push(late);
            }
        }
    });
    found.extend(polled(&mut early));
    assert_eq!(found, (0..lines).collect::<Vec<_>>());
    assert!(early.problems.is_empty(), "{:?}", early.problems);
    for mut late in followers {
        let found = polled(&mut late);
        assert!(found.first().is_none_or(|first| (*first..lines).eq(found.iter().copied())), "{found:?}");
        assert!(late.problems.is_empty(), "{:?}", late.problems);
    }
}

#[test]
fn the_tail_has_whole_lines_of_the_newest_segments_within_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    append(&log, 1..5, two_lines());
    let sizes: Vec<u64> = log
        .segments()
        .unwrap()
        .iter()
        .flat_map(|one| one.open().unwrap())
        .map(|raw| raw.unwrap().size)
        .collect();
    let (two, three) = (sizes[2] + sizes[3], sizes[1] + sizes[2] + sizes[3]);
    let last = |most: u64| ids(&tail(&log, most, |_| true).unwrap());
    assert_eq!(last(1 << 20), [1, 2, 3, 4]);
    assert_eq!(last(two), [3, 4]);
    assert_eq!(last(three), [2, 3, 4]);
    assert_eq!(last(three - 1), [3, 4], "a line that is cut is none");
    assert_eq!(last(sizes[3] / 2), NONE);
    assert_eq!(last(0), NONE);
    let some = tail(&log, 1 << 20, |bytes| bytes.windows(8).any(|part| part == b"\"id\":\"3\"")).unwrap();
    assert_eq!(ids(&some), [3]);
    assert!(tail(&session(dir.path(), "none"), 1, |_| true).unwrap().is_empty());
}

#[test]
fn the_tail_ends_with_what_was_written_last() {
    let dir = tempfile::tempdir().unwrap();
    let log = session(dir.path(), "s");
    append_single(&log, 1);
    append(&log, 2..3, 1);
    let set_age = |path: std::path::PathBuf, seconds: u64| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        file.set_modified(now - Duration::from_secs(seconds)).unwrap();
    };
    for (is_newer, age, expected) in [(false, 100, [1, 2]), (true, 200, [2, 1])] {
        for segment in log.segments().unwrap().iter().filter(|one| one.name.is_single() != is_newer) {
            set_age(segment.path(), age);
        }
        assert_eq!(ids(&tail(&log, 1 << 20, |_| true).unwrap()), expected);
    }
}
