//! Reads the usage of messages from the part of a transcript that is new.

use std::io;
use std::path::Path;

use fs_err::File;
use serde::{Deserialize, Serialize};

use teamkeep_model::team::MessageUsage;
use teamkeep_system::fs;

/// How many bytes before a position are compared, to notice that the file was replaced.
const CHECKED_BYTES: u64 = 64;

/// How far a transcript is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Position {
    /// The offset behind the last complete line.
    pub end: u64,
    /// A hash of the bytes before it.
    pub check: String,
}

/// New messages of a transcript.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// The offset from which it was read.
    pub start: u64,
    pub position: Position,
    pub spent: Vec<MessageUsage>,
    /// Number of bytes that were read.
    pub read: u64,
    /// Number of bytes behind the position, except those of an incomplete line.
    pub unread: u64,
}

/// Maximum numbers of bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailLimits {
    /// To read in one call.
    pub bytes: u64,
    /// Of a line; a longer one is skipped.
    pub line: u64,
}

/// Reads from a position on; from the start, if the file is shorter or has other bytes there.
pub(crate) fn read_tail(path: &Path, from: &Position, limits: TailLimits) -> io::Result<Tail> {
    let file = fs::open_regular(path)?;
    let length = file.metadata()?.len();
    let is_same = from.end <= length && check(&file, from.end)? == from.check;
    let start = if is_same { from.end } else { 0 };
    let most = usize::try_from(limits.bytes.min(length - start)).unwrap_or_default();
    // The file may become shorter meanwhile.
    let bytes = fs::read_at_most(&file, most, start)?;
    let count = bytes.len();
    let is_full = count as u64 == limits.bytes;
    let used = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(last) => last + 1,
        None if count as u64 >= limits.line => count,
        None => 0,
    };
    let spent = usages(&bytes[..used]);
    let end = start + used as u64;
    let unread = if is_full { length.saturating_sub(end) } else { 0 };
    Ok(Tail {
        start,
        position: Position { end, check: check(&file, end)? },
        spent,
        read: count as u64,
        unread,
    })
}

/// The usage in each line that has one.
pub(super) fn usages(lines: &[u8]) -> Vec<MessageUsage> {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| has_usage(line));
    lines.filter_map(MessageUsage::parse).collect()
}

/// Most lines have no usage.
fn has_usage(line: &[u8]) -> bool {
    const WORD: &[u8] = b"\"usage\"";
    line.windows(WORD.len()).any(|window| window == WORD)
}

fn check(file: &File, end: u64) -> io::Result<String> {
    let start = end.saturating_sub(CHECKED_BYTES);
    let bytes = fs::read_at_most(file, (end - start) as usize, start)?;
    Ok(blake3::hash(&bytes).to_hex()[..16].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, output: u64) -> String {
        let message =
            serde_json::json!({"id": id, "model": "m", "usage": {"output_tokens": output}, "content": []});
        serde_json::json!({"message": message}).to_string() + "\n"
    }

    fn ids(tail: &Tail) -> Vec<&str> {
        tail.spent.iter().map(|message| message.id.as_str()).collect()
    }

    const MOST: TailLimits = TailLimits { bytes: 1 << 20, line: 1 << 20 };

    #[test]
    fn only_complete_new_lines_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let next = line("b", 2);
        let (half, rest) = next.split_at(20);
        std::fs::write(&path, line("a", 1) + "\u{0}{\"usage\"\n" + half).unwrap();
        let first = read_tail(&path, &Position::default(), MOST).unwrap();
        assert_eq!((ids(&first), first.unread), (vec!["a"], 0));
        let again = read_tail(&path, &first.position, MOST).unwrap();
        assert_eq!((ids(&again), &again.position), (vec![], &first.position));
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + rest).unwrap();
        assert_eq!(ids(&read_tail(&path, &first.position, MOST).unwrap()), ["b"]);
    }

    #[test]
    fn a_shorter_or_replaced_file_is_read_from_its_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        std::fs::write(&path, line("a", 1) + &line("b", 2)).unwrap();
        let Tail { position, .. } = read_tail(&path, &Position::default(), MOST).unwrap();
        for (text, read) in
            [(line("a", 1), vec!["a"]), (line("c", 1) + &line("d", 2) + &line("e", 3), vec!["c", "d", "e"])]
        {
            std::fs::write(&path, text).unwrap();
            assert_eq!(ids(&read_tail(&path, &position, MOST).unwrap()), read);
        }
    }

    #[test]
    fn a_long_file_is_read_in_parts_and_a_line_that_does_not_fit_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        std::fs::write(&path, line("a", 1) + &"x".repeat(500) + "\n" + &line("b", 2)).unwrap();
        let (mut position, mut found, mut calls) = (Position::default(), Vec::new(), 0);
        loop {
            let tail = read_tail(&path, &position, TailLimits { bytes: 150, line: 150 }).unwrap();
            found.extend(ids(&tail).into_iter().map(str::to_owned));
            assert!(tail.read <= 150 && calls < 20);
            (position, calls) = (tail.position, calls + 1);
            if tail.unread == 0 {
                break;
            }
        }
        assert_eq!(found, ["a", "b"]);
        assert!(calls > 3, "{calls}");
    }

    #[test]
    fn a_line_that_does_not_fit_into_the_rest_of_a_call_is_read_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        std::fs::write(&path, line("a", 1) + &line("b", 2)).unwrap();
        for bytes in [0, 1, 20] {
            let tail = read_tail(&path, &Position::default(), TailLimits { bytes, ..MOST }).unwrap();
            assert_eq!((ids(&tail), tail.position.end), (vec![], 0), "{bytes}");
            assert_eq!(tail.unread, path.metadata().unwrap().len());
        }
        assert_eq!(ids(&read_tail(&path, &Position::default(), MOST).unwrap()), ["a", "b"]);
    }

    #[test]
    fn links_and_missing_files_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        assert!(read_tail(&path, &Position::default(), MOST).is_err());
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(read_tail(&path, &Position::default(), MOST).is_err());
    }
}
