use std::io::Write;

use super::*;
use crate::config;
use crate::store::log::Log;
use crate::sys::clock;

fn record(id: u32) -> String {
    format!(r#"{{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"{id}","event":"Stop","payload":{{}}}}"#)
}

/// A log with segments of two lines each.
fn small(dir: &Path) -> Log {
    let segment_size = 2 * record(1000).len() as u64;
    Log::open(dir, &config::Log { segment_size, ..config::Log::default() })
}

fn append(log: &Log, ids: std::ops::Range<u32>) {
    let at = clock::parse("2026-02-03T04:05:06.789Z").unwrap();
    ids.for_each(|id| drop(log.append(record(id).as_bytes(), at).unwrap()));
}

fn polled(follower: &mut Follower) -> Vec<u32> {
    let mut ids = Vec::new();
    follower
        .poll(|line| {
            ids.push(line.recorded.id.parse().unwrap());
            Ok(())
        })
        .unwrap();
    ids
}

fn ids(lines: &VecDeque<Line>) -> Vec<u32> {
    lines.iter().map(|line| line.recorded.id.parse().unwrap()).collect()
}

#[test]
fn the_last_lines_come_from_as_many_segments_as_they_need() {
    let dir = tempfile::tempdir().unwrap();
    append(&small(dir.path()), 0..9);
    for count in [0, 1, 2, 5, 9, 20] {
        let found = last(dir.path(), &Parts::default(), Range::default(), count, |_| true).unwrap();
        assert_eq!(ids(&found.0), (9 - count.min(9) as u32..9).collect::<Vec<_>>());
    }
    let even = last(dir.path(), &Parts::default(), Range::default(), 3, |line| {
        line.recorded.id.parse::<u32>().unwrap() % 2 == 0
    });
    assert_eq!(ids(&even.unwrap().0), [4, 6, 8]);
}

#[test]
fn each_line_is_read_once_across_new_segments() {
    let dir = tempfile::tempdir().unwrap();
    let log = small(dir.path());
    let mut early = Follower::new(dir.path(), Range::default());
    assert_eq!(polled(&mut early), [] as [u32; 0], "the directory is not even there");
    append(&log, 0..5);
    let mut late = last(dir.path(), &Parts::default(), Range::default(), 1, |_| true).unwrap().1;
    assert_eq!(polled(&mut early), [0, 1, 2, 3, 4]);
    append(&log, 5..10);
    assert_eq!(polled(&mut early), [5, 6, 7, 8, 9]);
    assert_eq!(polled(&mut late), [5, 6, 7, 8, 9]);
    assert_eq!(polled(&mut late), [] as [u32; 0]);
}

#[test]
fn a_follower_waits_for_the_end_of_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("2026-02-03T040506789Z-solo-1a2b3c4d.jsonl");
    let mut file = std::fs::File::create(path).unwrap();
    let line = record(7);
    let mut follower = last(dir.path(), &Parts::default(), Range::default(), 10, |_| true).unwrap().1;
    for half in [&line[..9], &line[9..]] {
        file.write_all(half.as_bytes()).unwrap();
        assert_eq!(polled(&mut follower), [] as [u32; 0]);
    }
    file.write_all(b"\nnonsense\n").unwrap();
    assert_eq!(polled(&mut follower), [7]);
    assert_eq!((follower.problems.count, follower.problems.first[0].line), (1, Some(2)));
}

#[test]
fn the_tail_has_complete_lines_of_the_newest_segments_within_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let line = |id: u32| format!(r#"{{"v":1,"id":"{id}","payload":{{}}}}"#) + "\n";
    let length = line(1).len() as u64;
    for (hour, ids) in [(0, [1, 2]), (1, [3, 4])] {
        let name = format!("2026-02-03T{hour:02}0000000Z-aaaaaaaa.jsonl");
        std::fs::write(dir.path().join(name), ids.map(line).concat()).unwrap();
    }
    let ids = |most: u64| -> Vec<String> {
        tail(dir.path(), most, |_| true).unwrap().into_iter().map(|line| line.recorded.id).collect()
    };
    assert_eq!(ids(1 << 20), ["1", "2", "3", "4"]);
    assert_eq!(ids(2 * length), ["3", "4"]);
    assert_eq!(ids(3 * length), ["2", "3", "4"]);
    assert_eq!(ids(3 * length - 1), ["3", "4"], "a line that is cut is none");
    assert_eq!(ids(length / 2), [""; 0]);
    let some = tail(dir.path(), 1 << 20, |bytes| bytes.windows(6).any(|part| part == b"\"id\":\"")).unwrap();
    assert_eq!(some.len(), 4);
    assert!(tail(&dir.path().join("none"), 1, |_| true).unwrap().is_empty());
}
