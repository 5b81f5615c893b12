use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use fs_err::OpenOptions;

use super::super::LogOwner;
use super::super::seal::Link;
use super::*;
use crate::PATIENCE;
use teamkeep_model::time::parse;

const EVENT: &[u8] = b"{\"v\":1,\"payload\":null}";

fn noon() -> Timestamp {
    parse("2026-02-03T12:00:00Z").unwrap()
}

fn log(dir: &Path) -> EventLog {
    EventLog { owner: LogOwner::Run("r".to_owned()), dir: dir.to_owned() }
}

fn size(segment_size: u64) -> Appending {
    Appending { segment_size, patience: PATIENCE, durable: false }
}

/// Appends lines to the same segment, or with the size 1 each to its own.
fn append(log: &EventLog, count: usize, segment_size: u64) {
    for _ in 0..count {
        let appended = log.append(EVENT, noon(), size(segment_size)).unwrap();
        assert!(!appended.is_single && appended.notes.is_empty(), "{appended:?}");
    }
}

fn texts(log: &EventLog) -> Vec<Vec<u8>> {
    let lines = log.segments().unwrap().into_iter().flat_map(|segment| segment.open().unwrap());
    lines.map(|raw| raw.unwrap().bytes.unwrap()).collect()
}

/// The chained lines. Each is intact, no closed segment ends with a half line, and its name is that of its last line.
fn links(log: &EventLog) -> Vec<Link> {
    let mut links = Vec::new();
    for segment in log.segments().unwrap() {
        for raw in segment.open().unwrap().map(|raw| raw.unwrap()) {
            assert!(raw.whole, "{segment:?}");
            let bytes = raw.bytes.unwrap();
            if let Some(sealed) = Sealed::read(&bytes).filter(Sealed::is_intact)
                && let Mark::Chained(link) = sealed.mark
            {
                links.push(link);
            }
        }
        if let Some(end) = segment.name.end() {
            assert_eq!(end, links.last().map(Link::point).unwrap_or_default(), "{segment:?}");
        }
    }
    links
}

fn is_one_chain(links: &[Link]) -> bool {
    let mut before = ChainPoint::default();
    links.iter().all(|link| {
        let follows = link.number == before.count + 1 && link.after == before.hash;
        before = link.point();
        follows
    })
}

fn assert_one_chain(log: &EventLog, count: usize) {
    let links = links(log);
    assert_eq!(links.len(), count);
    assert!(is_one_chain(&links));
    assert_eq!(log.head(), links.last().map(Link::point));
}

fn write_end(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[cfg(unix)]
#[test]
fn lines_go_to_one_private_file_in_a_directory_that_is_created() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(&dir.path().join("store/log"));
    let how = Appending { durable: true, ..size(1_000) };
    for line in [b"{\"v\":1}".as_slice(), b"{\"v\":1}\n"] {
        assert_eq!(log.append(line, noon(), how).unwrap(), Appended { is_single: false, notes: vec![] });
    }
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&log.current()), mode(&log.dir.join(LOCK)), mode(&log.dir)), (0o600, 0o600, 0o700));
    assert_one_chain(&log, 2);
}

#[test]
fn a_segment_is_closed_before_a_line_that_would_make_it_too_large() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    let length = sealed_size(&[EVENT, b"\n"].concat());
    append(&log, 5, 2 * length);
    log.append(&[b"{\"p\":\"", "x".repeat(1_000).as_bytes(), b"\"}"].concat(), noon(), size(1)).unwrap();
    append(&log, 1, 2 * length);
    let ends: Vec<u64> =
        log.segments().unwrap().iter().filter_map(|one| one.name.end()).map(|end| end.count).collect();
    assert_eq!(ends, [2, 4, 5, 6]);
    assert_one_chain(&log, 7);
}

#[test]
fn each_line_of_many_writers_is_there_once_in_one_chain_beside_closing_and_compressing() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    let (writers, lines) = (6, 60);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let write = |writer: usize| {
            for line in 0..lines {
                // So long that each closed segment is compressed.
                let text = format!("{{\"id\":\"{writer}-{line}\",\"p\":\"{}\"}}", "x".repeat(4_500));
                let appended = log.append(text.as_bytes(), noon(), size(45_000)).unwrap();
                assert!(!appended.is_single && appended.notes.is_empty(), "{appended:?}");
            }
        };
        let log = &log;
        let tidy = || {
            while !is_over.load(Ordering::Relaxed) {
                log.close(PATIENCE).unwrap();
                log.compress().unwrap();
            }
        };
        let tidying = [scope.spawn(tidy), scope.spawn(tidy)];
        let writing: Vec<_> = (0..writers).map(|writer| scope.spawn(move || write(writer))).collect();
        writing.into_iter().for_each(|thread| thread.join().unwrap());
        is_over.store(true, Ordering::Relaxed);
        tidying.into_iter().for_each(|thread| thread.join().unwrap());
    });
    log.close(PATIENCE).unwrap();
    log.compress().unwrap();
    assert_one_chain(&log, writers * lines);
    assert!(log.segments().unwrap().iter().any(|segment| segment.is_packed));
    let mut ids: Vec<Vec<u8>> = texts(&log).iter().map(|text| text[..20].to_vec()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), writers * lines);
}

/// The files of a killed writer, after three lines in the same segment.
type Damage = fn(&EventLog, &Scene);

struct Scene {
    /// The lock file after two lines.
    head: Vec<u8>,
    /// Where the third line begins in the file.
    third: usize,
}

impl Scene {
    /// Three lines, of which the last has no head yet.
    fn begin(log: &EventLog) -> Scene {
        append(log, 2, 1_000_000);
        let scene = Scene {
            head: std::fs::read(log.dir.join(LOCK)).unwrap(),
            third: std::fs::metadata(log.current()).unwrap().len() as usize,
        };
        append(log, 1, 1_000_000);
        std::fs::write(log.dir.join(LOCK), &scene.head).unwrap();
        scene
    }

    fn truncate(&self, log: &EventLog, after_third: i64) {
        let size = self.third.checked_add_signed(after_third as isize).unwrap();
        OpenOptions::new().write(true).open(log.current()).unwrap().set_len(size as u64).unwrap();
    }
}

fn rename(log: &EventLog) {
    let end = links(log).last().unwrap().point();
    std::fs::rename(log.current(), log.dir.join(SegmentName::Closed(end).to_string())).unwrap();
}

#[test]
fn the_chain_continues_wherever_a_writer_was_killed() {
    let half = |log: &EventLog, _: &Scene| write_end(&log.current(), b"{\"v\":1,\"pay");
    let long = |log: &EventLog, _: &Scene| write_end(&log.current(), &b"{\"v\":1,".repeat(50_000));
    // Its files, how many of the three lines there are, and whether the last was incomplete.
    let states: Vec<(Damage, usize, bool)> = vec![
        (|_, _| (), 3, false),
        (half, 3, true),
        (long, 3, true),
        (|log, _| write_end(&log.current(), b"half\nanother half"), 3, true),
        (|log, _| write_end(&log.current(), b"half\n"), 3, false),
        (|log, _| write_end(&log.current(), b"\n\n"), 3, false),
        // A line that lacks only its line break is whole.
        (
            |log, scene| {
                scene.truncate(
                    log,
                    std::fs::metadata(log.current()).unwrap().len() as i64 - 1 - scene.third as i64,
                )
            },
            3,
            true,
        ),
        (
            |log, scene| {
                scene.truncate(
                    log,
                    std::fs::metadata(log.current()).unwrap().len() as i64 - 2 - scene.third as i64,
                )
            },
            2,
            true,
        ),
        (|log, scene| scene.truncate(log, 1), 2, true),
        (|log, scene| scene.truncate(log, 0), 2, false),
        // Renamed, and no head.
        (|log, _| rename(log), 3, false),
        (
            |log, _| {
                rename(log);
                std::fs::write(log.current(), "").unwrap()
            },
            3,
            false,
        ),
        (
            |log, _| {
                rename(log);
                std::fs::write(log.current(), "{\"v\"").unwrap()
            },
            3,
            true,
        ),
        (
            |log, _| {
                rename(log);
                std::fs::write(log.current(), "x".repeat(100_000) + "\nhalf").unwrap()
            },
            3,
            true,
        ),
        // Killed once more after another line, whose head is missing, too.
        (
            |log, scene| {
                rename(log);
                append(log, 1, 1_000_000);
                std::fs::write(log.dir.join(LOCK), &scene.head).unwrap()
            },
            4,
            false,
        ),
        (
            |log, scene| {
                append(log, 1, 1);
                std::fs::write(log.dir.join(LOCK), &scene.head).unwrap()
            },
            4,
            false,
        ),
    ];
    for (place, (damage, count, is_torn)) in states.into_iter().enumerate() {
        for segment_size in [1_000_000, 1] {
            let dir = tempfile::tempdir().unwrap();
            let log = log(dir.path());
            damage(&log, &Scene::begin(&log));
            let notes = log.append(EVENT, noon(), size(segment_size)).unwrap().notes;
            let torn =
                notes.iter().filter(|note| note.text.starts_with("the last line of the log was incomplete"));
            assert_eq!(torn.count(), usize::from(is_torn), "{place}: {notes:?}");
            append(&log, 1, segment_size);
            assert_one_chain(&log, count + 2);
            assert!(log.close(PATIENCE).unwrap());
            append(&log, 1, segment_size);
            assert_one_chain(&log, count + 3);
            assert!(log.has_first_line());
        }
    }
}

#[test]
fn a_log_that_a_killed_writer_left_can_be_closed_at_once() {
    for (torn, count) in [(b"".as_slice(), 3), (b"{\"v\":1,\"pay", 3)] {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        Scene::begin(&log);
        write_end(&log.current(), torn);
        assert!(log.close(PATIENCE).unwrap());
        assert_one_chain(&log, count);
        append(&log, 1, 1_000);
        assert_one_chain(&log, count + 1);
    }
}

#[test]
fn a_first_line_that_was_cut_off_stays_in_the_listed_segments() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    write_end(&log.current(), b"{\"v\":1,\"pay");
    log.append(EVENT, noon(), size(1)).unwrap();
    assert_eq!(texts(&log)[0], b"{\"v\":1,\"pay");
    assert_one_chain(&log, 1);
    append(&log, 2, 1);
    assert_one_chain(&log, 3);
}

/// The changed content of the lock file; `None` removes it.
type Change = fn(Vec<u8>) -> Option<Vec<u8>>;

#[test]
fn a_chain_whose_head_is_missing_or_damaged_starts_again_and_keeps_counting() {
    let whole = |log: &EventLog| std::fs::read(log.dir.join(LOCK)).unwrap();
    let damages: [Change; 6] = [
        |_| None,
        |_| Some(Vec::new()),
        |head| Some(head[1..].to_vec()),
        |head| Some(b"x".repeat(head.len())),
        |head| Some([&head[..head.len() - 1], b" "].concat()),
        |_| Some(b"x".repeat(100_000)),
    ];
    for damage in damages {
        for closes in [false, true] {
            for segment_size in [1_000_000, 1] {
                let dir = tempfile::tempdir().unwrap();
                let log = log(dir.path());
                append(&log, 2, 1_000_000);
                match damage(whole(&log)) {
                    None => std::fs::remove_file(log.dir.join(LOCK)).unwrap(),
                    Some(content) => std::fs::write(log.dir.join(LOCK), content).unwrap(),
                }
                if closes {
                    assert!(log.close(PATIENCE).unwrap());
                    assert_eq!(log.head(), None, "a head is not made up");
                }
                append(&log, 2, segment_size);
                let links = links(&log);
                assert!(is_one_chain(&links[..2]));
                assert_eq!((links[2].number, links[2].after), (3, ChainHash::START));
                assert_eq!((links[3].number, links[3].after), (4, links[2].hash));
                assert_eq!(log.head().unwrap(), links[3].point());
            }
        }
    }
}

#[test]
fn lines_that_were_removed_from_the_end_leave_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    append(&log, 1, 1_000_000);
    let one = std::fs::read(log.current()).unwrap();
    append(&log, 1, 1_000_000);
    let numbers = || links(&log).iter().map(|link| link.number).collect::<Vec<u64>>();
    std::fs::write(log.current(), one).unwrap();
    append(&log, 1, 1_000_000);
    assert_eq!(numbers(), [1, 3]);
    std::fs::remove_file(log.current()).unwrap();
    append(&log, 1, 1_000_000);
    assert_eq!(numbers(), [4]);
}

#[test]
fn a_line_that_is_not_an_object_is_kept_outside_of_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    for line in [b"text".as_slice(), EVENT, b"[1]", b"", EVENT, b"{}", b"\xff"] {
        assert_eq!(log.append(line, noon(), size(1_000_000)).unwrap().notes, []);
    }
    append(&log, 1, 1);
    assert_one_chain(&log, 3);
    assert_eq!(texts(&log).len(), 8);
    assert_eq!(texts(&log)[6], b"\xff");
}

#[test]
fn a_segment_is_not_closed_over_another() {
    for ending in ["", ".gz"] {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        append(&log, 1, 1_000_000);
        let name = SegmentName::Closed(log.head().unwrap()).to_string() + ending;
        std::fs::write(log.dir.join(&name), "here before").unwrap();
        let appended = log.append(EVENT, noon(), size(1)).unwrap();
        assert!(!appended.is_single);
        assert!(appended.notes[0].text.starts_with("cannot begin a new segment: "), "{appended:?}");
        assert_eq!(std::fs::read_to_string(log.dir.join(&name)).unwrap(), "here before");
        assert_eq!(std::fs::read_to_string(log.current()).unwrap().lines().count(), 2);
        // The next name is free.
        append(&log, 1, 1);
        assert_eq!(std::fs::read_to_string(log.current()).unwrap().lines().count(), 1);
    }
}

/// A directory, a link to a file outside, and a pipe.
fn obstacles() -> Vec<fn(&Path, &Path)> {
    vec![
        |path, _| std::fs::create_dir(path).unwrap(),
        #[cfg(unix)]
        |path, outside| symlink(outside, path).unwrap(),
        #[cfg(unix)]
        |path, _| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap(),
    ]
}

#[test]
fn what_is_not_a_regular_file_is_not_written_and_the_line_gets_its_own_segment() {
    for name in [CURRENT, LOCK] {
        for block in obstacles() {
            let dir = tempfile::tempdir().unwrap();
            let outside = dir.path().join("outside");
            std::fs::write(&outside, "").unwrap();
            let log = log(&dir.path().join("log"));
            append(&log, 1, 1);
            assert!(log.close(PATIENCE).unwrap());
            drop(std::fs::remove_file(log.dir.join(name)));
            block(&log.dir.join(name), &outside);
            for _ in 0..2 {
                let how = Appending { durable: true, ..size(1_000) };
                let appended = log.append(EVENT, noon(), how).unwrap();
                assert!(appended.is_single);
                let note = &appended.notes[0];
                assert_eq!(note.severity, Severity::Problem);
                assert!(
                    note.text.contains(name) && note.text.contains("; the line went to events-single-"),
                    "{note:?}"
                );
            }
            assert_eq!(texts(&log).len(), 3);
            assert_eq!(std::fs::read_to_string(&outside).unwrap(), "");
            let _ = log.close(Duration::ZERO);
            assert_eq!(texts(&log).len(), 3);
        }
    }
}

#[test]
fn a_line_whose_lock_is_not_free_has_its_own_segment_and_mark() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    append(&log, 1, 1_000_000);
    let held = fs::lock(&log.dir.join(LOCK), Duration::ZERO).unwrap().unwrap();
    let appended = log.append(EVENT, noon(), Appending { patience: Duration::ZERO, ..size(1) }).unwrap();
    assert!(appended.is_single);
    assert_eq!(appended.notes[0].severity, Severity::Contention);
    let note = &appended.notes[0].text;
    assert!(
        note.starts_with("the log's lock was not free within 0 ms; the line went to events-single-"),
        "{note}"
    );
    assert!(!log.close(Duration::ZERO).unwrap(), "not without the lock");
    let current = log.segments().unwrap().remove(0);
    assert!(!log.remove(&current, Duration::ZERO).unwrap());
    drop(held);
    append(&log, 1, 1_000_000);
    assert_eq!(log.segments().unwrap().len(), 2, "a segment of a single line takes no other");
    let text = texts(&log).pop().unwrap();
    let line = Sealed::read(&text).unwrap();
    assert!(line.is_intact() && matches!(line.mark, Mark::Single(_)), "{line:?}");
    assert!(text.starts_with(b"{\"v\":1,\"payload\":null,"));
    let chained = links(&log);
    assert!(is_one_chain(&chained) && chained.len() == 2);
}

/// In a directory with this file, the test is run again in its own process, with a limit.
const LIMITED: &str = "file-size-limit-of-the-test";

#[test]
#[cfg_attr(windows, ignore = "it needs a limit of the size of files")]
fn a_line_that_a_full_file_does_not_take_gets_its_own_segment_and_one_without_room_changes_nothing() {
    if Path::new(LIMITED).exists() {
        let log = log(Path::new("log"));
        let full = || {
            (0..).map(|_| log.append(EVENT, noon(), size(1_000_000)).unwrap()).position(|one| one.is_single)
        };
        let count = full().unwrap();
        assert!(count > 2);
        assert_one_chain_and_singles(&log, count, 1);
        assert_eq!(full(), Some(0));
        let long = [b"{\"p\":\"", "x".repeat(1 << 20).as_bytes(), b"\"}"].concat();
        log.append(&long, noon(), size(1_000_000)).unwrap_err();
        assert_one_chain_and_singles(&log, count, 2);
        // Another segment has room.
        append(&log, 1, 1);
        assert_one_chain_and_singles(&log, count + 1, 2);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(LIMITED), "").unwrap();
    let exe = std::env::current_exe().unwrap();
    let name = "log::writer::tests::a_line_that_a_full_file_does_not_take_gets_its_own_segment_and_one_without_room_changes_nothing";
    let limit = "ulimit -f 4 && trap '' XFSZ && exec \"$0\" \"$@\"";
    let mut limited = Command::new("sh");
    limited.args(["-c", limit]).arg(exe).args(["--exact", name, "--nocapture"]).current_dir(dir.path());
    let output = limited.output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert!(!log(&dir.path().join("log")).segments().unwrap().is_empty(), "{text}");
}

fn assert_one_chain_and_singles(log: &EventLog, chained: usize, singles: usize) {
    assert_one_chain(log, chained);
    assert_eq!(texts(log).len(), chained + singles);
}

#[test]
fn only_a_log_with_lines_is_closed_and_its_first_line_stays_first() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(&dir.path().join("log"));
    assert!(!log.close(PATIENCE).unwrap());
    assert!(!log.dir.exists());
    assert!(!log.has_first_line());
    append(&log, 2, 1_000_000);
    for is_closed in [true, false] {
        assert_eq!(log.close(PATIENCE).unwrap(), is_closed);
    }
    append(&log, 1, 1_000_000);
    assert!(log.has_first_line());
    assert_one_chain(&log, 3);
    let first = log.segments().unwrap().remove(0);
    assert!(log.remove(&first, PATIENCE).unwrap());
    assert!(!log.has_first_line());
}

#[test]
fn closed_segments_are_compressed_and_read_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    append(&log, 100, 1_000_000);
    log.compress().unwrap();
    assert!(!log.segments().unwrap()[0].is_packed, "it may change");
    assert!(log.close(PATIENCE).unwrap());
    append(&log, 100, 1_000_000);
    let before = texts(&log);
    for _ in 0..2 {
        log.compress().unwrap();
        let packed: Vec<bool> = log.segments().unwrap().iter().map(|segment| segment.is_packed).collect();
        assert_eq!(packed, [true, false]);
        assert_eq!(texts(&log), before);
    }
    assert!(log.has_first_line());
    // The head that is lost is found in the name of a compressed segment.
    std::fs::remove_file(log.dir.join(LOCK)).unwrap();
    std::fs::remove_file(log.current()).unwrap();
    append(&log, 1, 1_000_000);
    assert_eq!(links(&log).last().unwrap().number, 101);
}

#[test]
fn a_segment_is_removed_only_as_it_was_listed() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(&dir.path().join("log"));
    append(&log, 2, 1_000_000);
    let listed = log.segments().unwrap().remove(0);
    append(&log, 1, 1_000_000);
    assert!(!log.remove(&listed, PATIENCE).unwrap(), "a line was added");
    let listed = log.segments().unwrap().remove(0);
    assert!(log.close(PATIENCE).unwrap());
    append(&log, 3, 1_000_000);
    assert_eq!(std::fs::metadata(log.current()).unwrap().len(), listed.size);
    assert!(!log.remove(&listed, PATIENCE).unwrap(), "it is another one of the same size");
    assert_one_chain(&log, 6);
    for segment in log.segments().unwrap() {
        assert!(log.remove(&segment, PATIENCE).unwrap());
        assert!(!log.remove(&segment, PATIENCE).unwrap());
    }
    append(&log, 1, 1_000_000);
    assert_eq!(links(&log)[0].number, 7);
}

#[test]
#[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
fn the_directory_of_a_log_goes_with_its_state_if_the_log_has_no_lines() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(&dir.path().join("log"));
    append(&log, 1, 1_000_000);
    log.remove_if_empty(PATIENCE).unwrap();
    assert_one_chain(&log, 1);
    let segment = log.segments().unwrap().remove(0);
    assert!(log.remove(&segment, PATIENCE).unwrap());
    std::fs::write(log.dir.join("state.json"), "").unwrap();
    log.remove_if_empty(PATIENCE).unwrap();
    assert!(!log.dir.exists());
    append(&log, 1, 1_000_000);
    assert_one_chain(&log, 1);
}

#[test]
#[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
fn a_writer_that_waited_while_the_log_was_removed_continues_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(&dir.path().join("log"));
    append(&log, 5, 1_000_000);
    let held = fs::lock(&log.dir.join(LOCK), Duration::ZERO).unwrap().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| append(&log, 2, 1_000_000));
        // It waits, or begins later: the result is the same.
        std::thread::sleep(Duration::from_millis(20));
        std::fs::remove_dir_all(&log.dir).unwrap();
        append(&log, 2, 1_000_000);
        drop(held);
    });
    append(&log, 1, 1_000_000);
    assert_one_chain(&log, 5);
}

#[test]
fn no_line_is_lost_or_numbered_twice_while_the_log_is_removed_again_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(&dir.path().join("log"));
    let lines = 4_000;
    let removed: usize = std::thread::scope(|scope| {
        let write = || (0..lines / 2).for_each(|_| drop(log.append(EVENT, noon(), size(3_000)).unwrap()));
        let writing = [scope.spawn(write), scope.spawn(write)];
        let mut removed = 0;
        while !writing.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            for segment in log.segments().unwrap() {
                let Ok(found) = segment.open() else { continue };
                let count = found.count();
                if log.remove(&segment, PATIENCE).unwrap() {
                    removed += count;
                    let emptied = log.remove_if_empty(PATIENCE);
                    // Wine keeps the name of a removed file as long as a writer that waits for its lock has it open.
                    assert!(emptied.is_ok() || cfg!(windows), "{emptied:?}");
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        removed
    });
    assert_eq!(texts(&log).len() + removed, lines);
    for pair in links(&log).windows(2) {
        assert!(pair[1].number == pair[0].number + 1 && pair[1].after == pair[0].hash, "{pair:?}");
    }
}

#[test]
fn single_lines_of_the_same_moment_have_different_names() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    let _held = fs::lock(&log.dir.join(LOCK), Duration::ZERO).unwrap().unwrap();
    for hour in [0, 0, 1] {
        let how = Appending { patience: Duration::ZERO, ..size(1) };
        log.append(EVENT, noon() + TimeDelta::hours(hour), how).unwrap();
    }
    assert_eq!(log.segments().unwrap().len(), 3);
}

#[test]
fn a_segment_can_have_exactly_its_size() {
    for (less, segments) in [(0, 1), (1, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        append(&log, 1, u64::MAX);
        let length = dir.path().join(CURRENT).metadata().unwrap().len();
        append(&log, 1, length + sealed_size(&[EVENT, b"\n"].concat()) - less);
        assert_eq!(log.segments().unwrap().len(), segments, "{less}");
        assert_one_chain(&log, 2);
    }
}

#[test]
fn a_finished_log_is_closed_and_compressed_unless_it_is_locked() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    append(&log, 1_000, u64::MAX);
    let lock = fs::lock(&dir.path().join(LOCK), PATIENCE).unwrap().unwrap();
    assert!(!log.finish(Duration::ZERO).unwrap());
    drop(lock);
    assert!(log.finish(PATIENCE).unwrap());
    let segments = log.segments().unwrap();
    assert!(segments.len() == 1 && segments[0].is_packed, "{segments:?}");
    assert!(log.finish(PATIENCE).unwrap(), "there is nothing to do");
    assert_one_chain(&log, 1_000);
}

#[test]
fn a_segment_of_only_half_a_line_is_not_closed() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    append(&log, 1, u64::MAX);
    assert!(log.close(PATIENCE).unwrap());
    write_end(&dir.path().join(CURRENT), b"{\"v\":1,");
    assert!(!log.close(PATIENCE).unwrap());
    append(&log, 1, u64::MAX);
    assert_one_chain(&log, 2);
}

#[test]
fn a_last_line_that_was_replaced_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path());
    append(&log, 2, u64::MAX);
    let before = links(&log);
    let (first, _) = seal(&[EVENT, b"\n"].concat(), ChainPoint::default()).unwrap();
    let (forged, _) = seal(b"{\"v\":1,\"payload\":\"forged\"}\n", before[0].point()).unwrap();
    std::fs::write(dir.path().join(CURRENT), [first, forged].concat()).unwrap();
    append(&log, 1, u64::MAX);
    let after = links(&log);
    assert_eq!((after.len(), after[2].after), (3, before[1].hash));
    assert!(!is_one_chain(&after));
}
