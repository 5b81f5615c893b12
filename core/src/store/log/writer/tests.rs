use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use fs_err::OpenOptions;

use super::*;
use crate::sys::clock::{Timestamp, parse};

fn time(text: &str) -> Timestamp {
    parse(text).unwrap()
}

fn noon() -> Timestamp {
    time("2026-02-03T12:00:00Z")
}

fn limits(segment_size: u64) -> config::Log {
    config::Log { segment_size, lock_patience: Duration::from_secs(60), ..config::Log::default() }
}

/// The content of every segment, oldest first.
fn contents(dir: &Path) -> Vec<String> {
    let read = |segment: &segments::Segment| std::fs::read_to_string(segment.path(dir)).unwrap();
    segments::list(dir).unwrap().iter().map(read).collect()
}

#[test]
fn lines_go_to_one_private_segment() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store/log");
    let log = Log { durable: true, ..Log::open(&root, &limits(1000)) };
    assert_eq!(log.append(b"one\n", noon()).unwrap().notes, []);
    let appended = log.append(b"two", noon()).unwrap();
    assert_eq!(contents(&root), ["one\ntwo\n"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&root.join(appended.segment.as_str())), 0o600);
    assert_eq!((mode(&root.join(LOCK)), mode(&root)), (0o600, 0o700));
}

#[test]
fn a_segment_ends_with_its_day_and_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(10));
    for line in ["1234", "1234", "12", "larger than a segment", "1"] {
        log.append(line.as_bytes(), noon()).unwrap();
    }
    log.append(b"2", time("2026-02-04T00:00:00Z")).unwrap();
    assert_eq!(contents(dir.path()), ["1234\n1234\n", "12\n", "larger than a segment\n", "1\n", "2\n"]);
}

#[test]
fn calls_that_overlap_midnight_do_not_begin_a_segment_each() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(1000));
    for at in
        ["2026-02-03T23:59:59.9Z", "2026-02-04T00:00:00Z", "2026-02-03T23:59:59.8Z", "2026-02-04T01:00:00Z"]
    {
        log.append(at.as_bytes(), time(at)).unwrap();
    }
    assert_eq!(segments::list(dir.path()).unwrap().len(), 2);
    log.append(b"a clock set back", time("2026-01-01T00:00:00Z")).unwrap();
    log.append(b"and going on", time("2026-01-01T00:00:01Z")).unwrap();
    assert_eq!(contents(dir.path())[0], "a clock set back\nand going on\n");
}

#[test]
fn an_incomplete_line_of_a_killed_writer_is_ended_before_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(1000));
    let name = log.append(b"whole", noon()).unwrap().segment;
    let mut file = OpenOptions::new().append(true).open(dir.path().join(name.as_str())).unwrap();
    file.write_all(b"ha").unwrap();
    let note = log.append(b"next", noon()).unwrap().notes.remove(0).text;
    assert!(note.starts_with("the last line of 2026-02-03T120000000Z-"), "{note}");
    assert_eq!(contents(dir.path()), ["whole\nha\nnext\n"]);
}

#[test]
fn a_line_whose_lock_is_not_free_goes_to_a_segment_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &config::Log { lock_patience: Duration::ZERO, ..limits(1000) });
    let held = fs::lock(&dir.path().join(LOCK), Duration::ZERO).unwrap();
    let appended = log.append(b"alone", noon()).unwrap();
    assert!(appended.segment.is_single_line());
    assert_eq!(appended.notes[0].severity, Severity::Contention);
    let note = &appended.notes[0].text;
    assert!(
        note.starts_with("the log's lock was not free within 0 ms; the line went to 2026-02-03T12"),
        "{note}"
    );
    drop(held);
    assert!(
        !log.append(b"together", noon()).unwrap().segment.is_single_line(),
        "a solo segment takes no second line"
    );
    assert_eq!(contents(dir.path()).len(), 2);
}

#[test]
fn a_lock_file_without_a_valid_name_does_not_stop_the_log() {
    for content in
        ["", "../../escape.jsonl\n", "2026-02-03T120000000Z-solo-1a2b3c4d.jsonl\n", &"x".repeat(9999)]
    {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), &limits(1000));
        let first = log.append(b"one", noon()).unwrap().segment;
        std::fs::write(dir.path().join(LOCK), content).unwrap();
        assert_eq!(log.append(b"two", noon()).unwrap().segment, first, "{content:?}");
        log.append(b"three", time("2026-02-04T12:00:00Z")).unwrap();
        log.append(b"four", time("2026-02-04T12:00:00Z")).unwrap();
        assert_eq!(contents(dir.path()), ["one\ntwo\n", "three\nfour\n"], "{content:?}");
    }
}

#[test]
fn a_segment_that_is_a_link_or_cannot_be_opened_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(1000));
    let name = log.append(b"one", noon()).unwrap().segment;
    let path = dir.path().join(name.as_str());
    let outside = dir.path().join("outside");
    std::fs::rename(&path, &outside).unwrap();
    symlink(&outside, &path).unwrap();
    assert!(log.append(b"two", noon()).unwrap().notes[0].text.contains("failed to open "));
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "one\n");
    assert_eq!(contents(dir.path()), ["two\n"]);
}
