use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use fs_err::OpenOptions;

use super::super::segments;
use super::*;
use crate::store::chain::{ChainHash, ChainPoint};
use crate::store::log::{Link, LinkedLines, Mark, Sealed, head};
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

const EVENT: &[u8] = b"{\"v\":1,\"payload\":null}";

/// The marks of all lines, oldest segment first.
fn links(dir: &Path) -> Vec<Link> {
    contents(dir).concat().lines().map(|line| link(line).unwrap()).collect()
}

fn link(line: &str) -> Option<Link> {
    match Sealed::read(line.as_bytes()).filter(Sealed::is_intact)?.mark {
        Mark::Chained(link) => Some(link),
        Mark::Single(_) => panic!("written without the lock"),
    }
}

fn is_one_chain(links: &[Link]) -> bool {
    let mut before = ChainPoint::default();
    links.iter().all(|link| {
        let follows = link.number == before.count + 1 && link.after == before.hash;
        before = link.point();
        follows
    })
}

#[test]
fn lines_are_one_chain_across_segments_and_its_head_is_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(300));
    for hour in 0..20 {
        log.append(EVENT, noon() + TimeDelta::hours(hour)).unwrap();
    }
    let links = links(dir.path());
    assert!(segments::list(dir.path()).unwrap().len() > 9 && links.len() == 20 && is_one_chain(&links));
    let head = head(dir.path()).unwrap();
    assert_eq!((head.point(), head.at), (links[19].point(), noon() + TimeDelta::hours(19)));
    let text = serde_json::to_value(head).unwrap();
    assert_eq!(text["hash"], head.hash.to_string());
    // An incomplete line, and one that is not an object, are not in the chain.
    let last = segments::list(dir.path()).unwrap().pop().unwrap().path(dir.path());
    OpenOptions::new().append(true).open(&last).unwrap().write_all(b"{\"v").unwrap();
    log.append(b"text", noon() + TimeDelta::hours(19)).unwrap();
    log.append(EVENT, noon() + TimeDelta::hours(19)).unwrap();
    let text = contents(dir.path()).concat();
    let line = Sealed::read(text.lines().last().unwrap().as_bytes()).unwrap();
    assert!(matches!(line.mark, Mark::Chained(link) if link.after == head.hash && link.number == 21));
}

#[test]
fn the_chain_continues_after_a_writer_that_was_killed_before_it_stored_the_head() {
    let dir = tempfile::tempdir().unwrap();
    for size in [10_000, 1, 250] {
        let log = Log::open(dir.path(), &limits(size));
        for _ in 0..4 {
            log.append(EVENT, noon()).unwrap();
            append_without_head(dir.path(), &log);
        }
    }
    let exclusive = ExclusiveLog::take(dir.path(), Duration::from_secs(60)).unwrap().unwrap();
    let at = noon();
    let change = LogChange { pruned_runs: vec!["r".to_owned()], ..LogChange::new(at) };
    // Killed after the change, and the next time before it.
    exclusive.record(&change).unwrap();
    let mut state = LockState::read(&exclusive.lock.file);
    let settled = state.head.unwrap();
    let links = links(dir.path());
    let end = links.last().unwrap().point();
    state.head = Some(Head { count: end.count, hash: end.hash, at });
    state.is_unsettled = true;
    state.write(&exclusive.lock.file).unwrap();
    drop(exclusive);
    let log = Log::open(dir.path(), &limits(10_000));
    log.append(EVENT, noon()).unwrap();
    let changes = LinkedLines::of_file(&changes_path(dir.path())).unwrap();
    assert_eq!((changes.len(), changes[0].after, changes[0].end()), (1, end.hash, settled.point()));
    let next = self::links(dir.path()).pop().unwrap();
    assert_eq!((next.after, next.number), (settled.hash, settled.count + 1));
    assert!(is_one_chain(&links));
}

/// Writes a line and leaves the former head, as a writer does that is killed before it stores its own.
fn append_without_head(dir: &Path, log: &Log) {
    let before = head(dir);
    log.append(EVENT, noon()).unwrap();
    let lock = fs::lock(&dir.join(LOCK), Duration::from_secs(60)).unwrap().unwrap();
    let mut state = LockState::read(&lock.file);
    state.head = before;
    state.write(&lock.file).unwrap();
}

#[test]
fn the_chain_continues_after_several_writers_that_were_killed_one_after_the_other() {
    let whole = seal(&[EVENT, b"\n"].concat(), ChainPoint::default()).unwrap().0;
    let long = format!("{{\"v\":1,\"payload\":\"{}", "x".repeat(100_000)).into_bytes();
    // The part of its line that the second writer left, and the size of a segment.
    for (left, size) in [
        (&whole[..1], 1_000_000),
        (&whole[..whole.len() - 2], 1_000_000),
        (&long, 1_000_000),
        (b"half\nanother half", 1_000_000),
        (b"half\n", 1_000_000),
        // The second writer began a segment.
        (b"half", 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), &limits(size));
        log.append(EVENT, noon()).unwrap();
        append_without_head(dir.path(), &log);
        if size == 1 {
            let exclusive = ExclusiveLog::take(dir.path(), Duration::from_secs(60)).unwrap().unwrap();
            exclusive.close_current(noon()).unwrap();
        }
        let current = active_segment(dir.path()).unwrap();
        fs::Appender::open(&dir.path().join(current.as_str())).unwrap().append(left).unwrap();
        let next = Log::open(dir.path(), &limits(1_000_000));
        next.append(EVENT, noon()).unwrap();
        next.append(EVENT, noon()).unwrap();
        let links: Vec<Link> = contents(dir.path()).concat().lines().filter_map(link).collect();
        assert!(is_one_chain(&links) && links.len() == 4, "{links:?}");
    }
}

#[test]
fn a_line_without_its_line_break_is_in_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(1_000_000));
    log.append(EVENT, noon()).unwrap();
    append_without_head(dir.path(), &log);
    let path = dir.path().join(active_segment(dir.path()).unwrap().as_str());
    let lines = std::fs::read(&path).unwrap();
    std::fs::write(&path, &lines[..lines.len() - 1]).unwrap();
    log.append(EVENT, noon()).unwrap();
    let links = links(dir.path());
    assert!(is_one_chain(&links) && links.len() == 3, "{links:?}");
}

#[test]
fn a_new_segment_continues_the_chain_although_its_writer_or_the_one_before_was_killed() {
    let two_days_before = noon() - TimeDelta::days(2);
    for now in [noon(), noon() + TimeDelta::days(1), two_days_before] {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), &limits(10_000));
        log.append(EVENT, noon()).unwrap();
        append_without_head(dir.path(), &log);
        let exclusive = ExclusiveLog::take(dir.path(), Duration::from_secs(60)).unwrap().unwrap();
        exclusive.close_current(now).unwrap();
        let named = exclusive.current().unwrap();
        std::fs::remove_file(dir.path().join(named.as_str())).unwrap();
        drop(exclusive);
        assert_eq!(log.append(EVENT, now).unwrap().segment, named);
        let mut links = links(dir.path());
        links.sort_by_key(|link| link.number);
        assert!(is_one_chain(&links) && links.len() == 3, "{links:?}");
    }
}

#[test]
fn the_first_writer_that_was_killed_before_it_stored_the_head_did_not_remove_one() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(10_000));
    log.append(EVENT, noon()).unwrap();
    let lock = fs::lock(&dir.path().join(LOCK), Duration::from_secs(60)).unwrap().unwrap();
    let mut state = LockState::default();
    state.begin_segment(&LockState::read(&lock.file).segment.unwrap(), ChainPoint::default(), noon());
    state.write(&lock.file).unwrap();
    drop(lock);
    log.append(EVENT, noon()).unwrap();
    assert!(is_one_chain(&links(dir.path())));
}

#[test]
fn a_line_that_was_removed_from_the_end_leaves_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &limits(10_000));
    let name = log.append(EVENT, noon()).unwrap().segment;
    let path = dir.path().join(name.as_str());
    let one = std::fs::read(&path).unwrap();
    log.append(EVENT, noon()).unwrap();
    std::fs::write(&path, one).unwrap();
    log.append(EVENT, noon()).unwrap();
    let numbers: Vec<u64> = links(dir.path()).iter().map(|link| link.number).collect();
    assert_eq!(numbers, [1, 3]);
}

#[test]
fn a_chain_whose_head_is_missing_starts_again_and_keeps_counting() {
    for content in [None, Some("x".repeat(500)), Some(String::new())] {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), &limits(10_000));
        log.append(EVENT, noon()).unwrap();
        log.append(EVENT, noon()).unwrap();
        match &content {
            None => std::fs::remove_file(dir.path().join(LOCK)).unwrap(),
            Some(content) => std::fs::write(dir.path().join(LOCK), content).unwrap(),
        }
        log.append(EVENT, noon()).unwrap();
        log.append(EVENT, noon()).unwrap();
        let links = links(dir.path());
        assert_eq!((links[2].number, links[2].after), (3, ChainHash::START), "{content:?}");
        assert_eq!((links[3].number, links[3].after), (4, links[2].hash), "{content:?}");
        assert_eq!(head(dir.path()).unwrap().point(), links[3].point(), "{content:?}");
    }
}

#[test]
fn a_head_that_is_missing_is_not_made_up_when_a_segment_begins() {
    for removes_before in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), &limits(10_000));
        (0..3).for_each(|_| drop(log.append(EVENT, noon()).unwrap()));
        let remove = || std::fs::remove_file(dir.path().join(LOCK)).unwrap();
        if removes_before {
            remove();
        }
        let exclusive = ExclusiveLog::take(dir.path(), Duration::from_secs(60)).unwrap().unwrap();
        exclusive.close_current(noon()).unwrap();
        drop(exclusive);
        assert_eq!(head(dir.path()).is_none(), removes_before);
        if !removes_before {
            remove();
        }
        log.append(EVENT, noon()).unwrap();
        let last = links(dir.path()).pop().unwrap();
        assert_eq!((last.number, last.after), (4, ChainHash::START), "{removes_before}");
    }
}

#[test]
fn a_line_without_the_lock_has_its_own_hash_and_is_adopted_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), &config::Log { lock_patience: Duration::ZERO, ..limits(1000) });
    let held = fs::lock(&dir.path().join(LOCK), Duration::ZERO).unwrap();
    let solo = log.append(EVENT, noon()).unwrap().segment;
    drop(held);
    let text = contents(dir.path()).concat();
    let line = Sealed::read(text.trim_end().as_bytes()).unwrap();
    let Mark::Single(hash) = line.mark else { panic!("{line:?}") };
    assert!(line.is_intact());
    let adopting = || LogChange::adopting(dir.path(), &segments::list(dir.path()).unwrap(), noon()).unwrap();
    let change = adopting();
    assert_eq!(change.adopted, [(solo.to_string(), hash)].into());
    ExclusiveLog::take(dir.path(), Duration::from_secs(60)).unwrap().unwrap().record(&change).unwrap();
    assert!(adopting().is_empty());
    assert_eq!((LogChange::list(dir.path()).unwrap(), head(dir.path()).unwrap().count), (vec![change], 1));
}
