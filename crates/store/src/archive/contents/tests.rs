use std::io::Read;
use std::time::{Duration, Instant};

use super::*;
use crate::archive::{Archive, ContentWriter};

const RUN: &str = "0123456789abcdef";

fn archive(dir: &tempfile::TempDir) -> Archive {
    Archive::new(dir.path().to_owned(), 1 << 20, Duration::ZERO)
}

fn writer(archive: &Archive) -> ContentWriter {
    ContentWriter::new(&archive.run_dir(RUN).unwrap(), "event", true)
}

/// An inbox with so many messages of this size.
fn inbox(messages: usize, size: usize) -> Vec<u8> {
    let text = |number: usize| format!("{number:08}").repeat(size / 8);
    let all: Vec<String> =
        (0..messages).map(|number| format!("  {{\"text\":\"{}\"}}", text(number))).collect();
    format!("[\n{}\n]", all.join(",\n")).into_bytes()
}

fn size(archive: &Archive, name: &str) -> usize {
    std::fs::read(archive.run_dir(RUN).unwrap().join(name)).unwrap().len()
}

#[test]
fn a_growing_inbox_costs_its_messages_and_each_of_its_states_can_be_read() {
    for (messages, text) in [(10, 304), (10, 10_000), (1_000, 304), (200, 10_000)] {
        let dir = tempfile::tempdir().unwrap();
        let archive = archive(&dir);
        let (mut last, mut states) = (None, Vec::new());
        for count in 1..=messages {
            // Each capture is a process of its own.
            let mut writer = writer(&archive);
            let (hash, place) = writer.put(&inbox(count, text), last).unwrap();
            writer.flush().unwrap();
            states.push((hash, place.unwrap()));
            last = place;
        }
        let stored = size(&archive, DATA) + size(&archive, LIST);
        assert!(stored * 2 <= messages * text * 4, "{messages} of {text}: {stored}");
        let mut contents = archive.contents(RUN);
        for index in [0, 4, messages - 1, messages / 2] {
            let (hash, place) = &states[index];
            assert_eq!(contents.at(*place).unwrap().bytes, inbox(index + 1, text));
            assert_eq!(archive.content(RUN, hash).unwrap(), inbox(index + 1, text));
        }
    }
}

#[test]
fn a_content_that_changes_often_is_stored_as_a_whole_now_and_then() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut writer = writer(&archive);
    let state =
        |number: usize| format!("{{\"id\":\"1\",\"note\":\"{number}\",\"text\":\"{}\"}}", "x".repeat(400));
    let mut last = None;
    for number in 0..1_000 {
        last = writer.put(state(number).as_bytes(), last).unwrap().1;
        writer.flush().unwrap();
        let cost = archive.contents(RUN).at(last.unwrap()).unwrap().cost;
        assert!(cost <= 4 * 440 + (4 << 10), "{number}: {cost}");
    }
    assert!(size(&archive, DATA) < 1_000 * 30);
}

#[test]
fn the_same_content_is_stored_once_and_one_of_another_file_is_no_base() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut writer = writer(&archive);
    let (hash, first) = writer.put(b"one", None).unwrap();
    assert_eq!(writer.put(b"one", first).unwrap(), (hash, first), "before it is written");
    let (_, other) = writer.put(b"two", first).unwrap();
    assert_ne!(first, other);
    writer.flush().unwrap();
    assert_eq!(size(&archive, DATA), 6, "nothing is shared");
}

#[test]
fn what_killed_writers_left_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let run = archive.run_dir(RUN).unwrap();
    let mut first = writer(&archive);
    let (one, place) = first.put(b"[1]", None).unwrap();
    first.flush().unwrap();
    let append = |name: &str, bytes: &[u8]| {
        let old = std::fs::read(run.join(name)).unwrap();
        std::fs::write(run.join(name), [&old, bytes].concat()).unwrap();
    };
    append(DATA, b"bytes without a line");
    append(LIST, b"[\"0000");
    let mut second = writer(&archive);
    let (two, _) = second.put(b"[1,2]", place).unwrap();
    second.flush().unwrap();
    assert_eq!(archive.content(RUN, &one).unwrap(), b"[1]");
    assert_eq!(archive.content(RUN, &two).unwrap(), b"[1,2]");
}

#[test]
fn a_content_of_a_call_without_the_lock_is_found_by_its_hash() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut alone = ContentWriter::new(&archive.run_dir(RUN).unwrap(), "event", false);
    let (hash, place) = alone.put(b"alone", None).unwrap();
    alone.sync().unwrap();
    assert_eq!((archive.content(RUN, &hash).unwrap(), place), (b"alone".to_vec(), None));
    std::fs::create_dir_all(archive.run_dir(RUN).unwrap().join(DATA)).unwrap();
    let mut blocked = writer(&archive);
    let (hash, place) = blocked.put(b"blocked", None).unwrap();
    blocked.flush().unwrap();
    assert_eq!((archive.content(RUN, &hash).unwrap(), place), (b"blocked".to_vec(), None));
}

#[test]
fn a_damaged_content_is_an_error_and_an_intact_copy_of_it_suffices() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut writer = writer(&archive);
    let (hash, _) = writer.put(b"state", None).unwrap();
    writer.flush().unwrap();
    std::fs::write(archive.run_dir(RUN).unwrap().join(DATA), "stale").unwrap();
    let error = archive.content(RUN, &hash).unwrap_err();
    assert!(matches!(error, ContentError::Damaged { .. }), "{error}");
    std::fs::write(archive.run_dir(RUN).unwrap().join(DATA), "st").unwrap();
    assert!(matches!(archive.contents(RUN).get(&hash).unwrap_err(), ContentError::Damaged { .. }));
    let mut repair = ContentWriter::new(&archive.run_dir(RUN).unwrap(), "repair", false);
    repair.put(b"state", None).unwrap();
    repair.flush().unwrap();
    assert_eq!(archive.contents(RUN).get(&hash).unwrap(), b"state");
    let missing = archive.content(RUN, &super::hash(b"other")).unwrap_err();
    assert!(matches!(missing, ContentError::Missing { .. }), "{missing}");
}

#[test]
fn lines_that_contradict_each_other_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let run = archive.run_dir(RUN).unwrap();
    std::fs::create_dir_all(&run).unwrap();
    std::fs::write(run.join(DATA), "0123456789").unwrap();
    let first = "[\"0000000000000000\",0,10]\n";
    let next = first.len();
    for second in [
        "8,3".to_owned(),
        "18446744073709551615,1".to_owned(),
        format!("0,1,{next},1,1"),
        "0,1,0,6,6".to_owned(),
        "0,1,0,18446744073709551615,1".to_owned(),
        "0,1,3,1,1".to_owned(),
        "\"0\",1".to_owned(),
    ] {
        let second = format!("[\"0000000000000000\",{second}]\n");
        std::fs::write(run.join(LIST), format!("{first}{second}")).unwrap();
        let error = archive.contents(RUN).at(next as u64).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{second}");
    }
}

#[test]
fn a_large_file_is_stored_in_pieces_and_leaves_nothing_if_it_is_not_read_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut writer = writer(&archive);
    let from = dir.path().join("inbox.json");
    let text = b"0123456789".repeat(100_000);
    std::fs::write(&from, &text).unwrap();
    std::fs::create_dir_all(archive.run_dir(RUN).unwrap()).unwrap();
    let late = writer.put_file(&from, Some(Instant::now())).unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    assert_eq!(size(&archive, DATA), 0);
    let (copied, place) = writer.put_file(&from, None).unwrap();
    writer.sync().unwrap();
    assert!(copied.steady && copied.size == text.len() as u64 && copied.hash == super::hash(&text));
    assert_eq!(measure(&from, None).unwrap().hash, copied.hash);
    assert_eq!(archive.content(RUN, &copied.hash).unwrap(), text);
    let mut reading = archive.open_content(RUN, &copied.hash).unwrap();
    let mut first = [0; 10];
    reading.read_exact(&mut first).unwrap();
    assert_eq!((&first, reading.verify().unwrap()), (b"0123456789", 999_990));
    assert_eq!(writer.put(&text, place).unwrap(), (copied.hash, place));
    std::fs::File::options().write(true).open(&from).unwrap().set_len(crate::packed::MAX_BYTES + 1).unwrap();
    assert_eq!(writer.put_file(&from, None).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn an_invalid_hash_or_run_does_not_become_a_path() {
    let archive = Archive::new("/nowhere".into(), 1, Duration::ZERO);
    for bad in ["", "../../etc/passwd", "AB", &"g".repeat(64)] {
        assert!(matches!(archive.content(RUN, bad).unwrap_err(), ContentError::Missing { .. }), "{bad}");
        assert!(archive.open_content("..", bad).is_err(), "{bad}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
fn damage_of_a_compressed_file_hides_nothing_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut writer = writer(&archive);
    let first = writer.put(&inbox(40, 304), None).unwrap().0;
    let noise: Vec<u8> = (0..40_000u32)
        .flat_map(|number| blake3::hash(&number.to_le_bytes()).as_bytes()[..2].to_vec())
        .collect();
    let last = writer.put(&noise, None).unwrap().0;
    writer.flush().unwrap();
    let data = archive.run_dir(RUN).unwrap().join(DATA);
    let mut gzip = Vec::new();
    let bytes = std::fs::read(&data).unwrap();
    flate2::read::GzEncoder::new(&*bytes, flate2::Compression::default()).read_to_end(&mut gzip).unwrap();
    std::fs::remove_file(&data).unwrap();
    std::fs::write(crate::packed::packed(&data), &gzip[..gzip.len() - 20_000]).unwrap();
    assert_eq!(archive.content(RUN, &first).unwrap(), inbox(40, 304));
    assert!(matches!(archive.content(RUN, &last).unwrap_err(), ContentError::Damaged { .. }));
}

#[test]
fn many_calls_without_the_lock_keep_few_files_open() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let run = archive.run_dir(RUN).unwrap();
    let mut hashes = Vec::new();
    for number in 0..300 {
        let mut alone = ContentWriter::new(&run, &format!("event{number}"), false);
        hashes.push(alone.put(format!("content {number}").as_bytes(), None).unwrap().0);
        alone.flush().unwrap();
    }
    let open = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let before = open();
    let mut contents = archive.contents(RUN);
    assert!(hashes.iter().all(|hash| contents.get(hash).is_ok()));
    assert!(open() < before + 100, "{before} {}", open());
}

#[test]
fn zeros_at_the_end_of_the_list_hide_no_later_content() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut first = writer(&archive);
    first.put(b"one", None).unwrap();
    first.flush().unwrap();
    let list = archive.run_dir(RUN).unwrap().join(LIST);
    std::fs::write(&list, [std::fs::read(&list).unwrap(), vec![0; 100_000]].concat()).unwrap();
    let mut second = writer(&archive);
    let (hash, place) = second.put(b"two", None).unwrap();
    second.flush().unwrap();
    assert_eq!(archive.content(RUN, &hash).unwrap(), b"two");
    assert_eq!(ContentWriter::new(&archive.run_dir(RUN).unwrap(), "x", true).place_of(&hash), place);
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut writer = writer(&archive);
    writer.put(b"one", None).unwrap();
    writer.flush().unwrap();
    let sizes = || [DATA, LIST].map(|name| size(&archive, name));
    let before = sizes();
    let mut other = self::writer(&archive);
    other.put(&vec![b'x'; 5 << 20], None).unwrap();
    assert_ne!(sizes(), before, "so much is not collected");
    other.fail();
    assert!(other.put(b"two", None).is_err() && other.flush().is_err());
    assert_eq!(sizes(), before);
}

#[test]
fn a_content_that_is_being_read_outlasts_the_compression_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archive(&dir);
    let mut writer = writer(&archive);
    let (hash, _) = writer.put(b"content", None).unwrap();
    writer.flush().unwrap();
    let mut reader = archive.open_content(RUN, &hash).unwrap();
    std::fs::remove_file(archive.run_dir(RUN).unwrap().join(DATA)).unwrap();
    let mut later = archive.open_content(RUN, &hash).unwrap();
    let (mut one, mut other) = (Vec::new(), Vec::new());
    reader.read_to_end(&mut one).unwrap();
    later.read_to_end(&mut other).unwrap();
    assert_eq!((&*one, &*other), (&b"content"[..], &b"content"[..]));
}
