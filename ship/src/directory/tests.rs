use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use teamkeep_model::time;

use super::*;

/// A directory whose files are full after a few rows.
fn small(dir: &Path) -> Directory {
    Directory { dir: dir.join("rows"), max_file_bytes: 1_000 }
}

/// Appends the rows with these numbers, as a part of one shipment: the time is always the same.
fn append(directory: &Directory, numbers: std::ops::Range<usize>) {
    let rows: String = numbers.map(|number| format!("{{\"row\":{number},\"x\":\"äöü\"}}\n")).collect();
    directory.append(rows.as_bytes(), time::parse("2026-02-03T04:05:06.789Z").unwrap()).unwrap();
}

fn number(line: &str) -> usize {
    usize::try_from(serde_json::from_str::<serde_json::Value>(line).unwrap()["row"].as_u64().unwrap())
        .unwrap()
}

/// All files, the current one last.
fn all(directory: &Directory) -> Vec<PathBuf> {
    let entries = files::read_dir(&directory.dir).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort_by_key(|path| (path.ends_with(CURRENT), path.clone()));
    paths
}

fn age(path: &Path, days: u32) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let now = file.metadata().unwrap().modified().unwrap();
    file.set_modified(now - DAY * days).unwrap();
}

/// Follows files by their inode, whatever their names are, as Vector and Fluent Bit do.
#[derive(Default)]
struct Follower {
    offsets: HashMap<u64, u64>,
    rows: Vec<usize>,
}

impl Follower {
    fn poll(&mut self, directory: &Directory) {
        for path in all(directory) {
            // It can have been renamed since it was listed.
            let Ok(mut file) = std::fs::File::open(path) else { continue };
            let offset = self.offsets.entry(file.metadata().unwrap().ino()).or_default();
            file.seek(SeekFrom::Start(*offset)).unwrap();
            let mut new = Vec::new();
            file.read_to_end(&mut new).unwrap();
            let end = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            *offset += end as u64;
            self.rows.extend(std::str::from_utf8(&new[..end]).unwrap().lines().map(number));
        }
    }
}

#[test]
fn a_reader_that_follows_by_inode_gets_every_row_once_while_files_are_renamed() {
    let scratch = tempfile::tempdir().unwrap();
    let (directory, done) = (small(scratch.path()), AtomicBool::new(false));
    let mut rows = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut follower = Follower::default();
            while !done.load(Ordering::Relaxed) {
                follower.poll(&directory);
            }
            follower.poll(&directory);
            follower.rows
        });
        for part in 0..300 {
            append(&directory, part * 7..(part + 1) * 7);
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(all(&directory).len() > 50, "files of one shipment do not replace each other");
    rows.sort_unstable();
    assert_eq!(rows, (0..2_100).collect::<Vec<_>>());
}

#[test]
fn tail_gets_every_row_once_in_order_while_files_are_renamed() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = small(scratch.path());
    append(&directory, 0..1);
    let mut command = Command::new("tail");
    command.args(["-n", "+1", "-F"]).arg(directory.dir.join(CURRENT));
    let mut tail = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let output = BufReader::new(tail.stdout.take().unwrap());
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            output
                .lines()
                .map_while(|line| line.ok())
                .for_each(|line| rows.lock().unwrap().push(number(&line)));
        });
        let arrived = |count: usize| {
            let start = Instant::now();
            while rows.lock().unwrap().len() < count && start.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        for part in 0..30 {
            arrived(part * 10 + 1);
            append(&directory, part * 10 + 1..(part + 1) * 10 + 1);
        }
        arrived(301);
        tail.kill().unwrap();
        tail.wait().unwrap();
    });
    assert!(all(&directory).len() > 5);
    assert_eq!(*rows.lock().unwrap(), (0..301).collect::<Vec<_>>());
}

#[test]
fn half_a_line_of_a_full_disk_damages_no_other_line() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = small(scratch.path());
    files::create_dir_all(&directory.dir).unwrap();
    let path = directory.dir.join(CURRENT);
    for half in ["", "{\"row\":0}\n{\"row\":1,\"x\":\"\u{e4}"] {
        std::fs::write(&path, half).unwrap();
        append(&directory, 0..2);
        let text = std::fs::read_to_string(&path).unwrap();
        let break_after_half = if half.is_empty() { "" } else { "\n" };
        let rows = text.strip_prefix(&format!("{half}{break_after_half}")).unwrap();
        assert_eq!(rows.lines().map(number).collect::<Vec<_>>(), [0, 1]);
        assert!(rows.ends_with('\n'));
    }
}

#[test]
fn a_shipment_that_is_larger_than_a_file_is_not_split() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = small(scratch.path());
    append(&directory, 0..500);
    append(&directory, 500..501);
    let sizes =
        all(&directory).into_iter().map(|path| std::fs::read_to_string(path).unwrap().lines().count());
    assert_eq!(sizes.collect::<Vec<_>>(), [500, 1]);
}

#[test]
fn full_files_are_removed_after_a_week_and_too_many_after_a_day() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = small(scratch.path());
    let rotate = || {
        append(&directory, 0..100);
        append(&directory, 0..1);
    };
    // A reader may not have read them yet: they are kept, however many they are.
    (0..30).for_each(|_| rotate());
    let full = all(&directory).len() - 1;
    assert!(full >= 30, "{full}");
    let foreign = directory.dir.join("other.jsonl");
    std::fs::write(&foreign, "").unwrap();
    age(&foreign, 30);
    all(&directory).iter().filter(|path| !path.ends_with(CURRENT)).for_each(|path| age(path, 2));
    rotate();
    let left = || all(&directory).iter().filter(|path| path.to_string_lossy().contains(RENAMED)).count();
    // One of them was renamed after its age was set.
    assert!((MAX_FILES..=MAX_FILES + 2).contains(&left()), "{}", left());
    all(&directory).iter().filter(|path| !path.ends_with(CURRENT)).for_each(|path| age(path, 8));
    rotate();
    assert!(left() <= 2 && foreign.exists(), "{}", left());
}
