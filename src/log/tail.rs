//! The end of a log that is too large to be read for a glance at it.

use std::io;
use std::path::Path;

use super::lines::{Lines, Position};
use super::reader::parse;
use super::{Line, segments};

/// The lines in the last `most` bytes of the log, oldest first, whose bytes look wanted. Unreadable lines are skipped.
///
/// # Errors
/// The log's directory cannot be read.
pub fn tail(dir: &Path, most: u64, wants: impl Fn(&[u8]) -> bool) -> io::Result<Vec<Line>> {
    let mut left = most;
    let mut parts = Vec::new();
    for segment in segments::list(dir)?.into_iter().rev() {
        let part = segment.size.min(left);
        left -= part;
        parts.push((segment.path(dir), segment.size - part));
        if left == 0 {
            break;
        }
    }
    let mut found = Vec::new();
    for (path, skipped) in parts.into_iter().rev() {
        // From the byte before on: the first line break ends what began earlier.
        let offset = skipped.saturating_sub(1);
        let Ok(mut lines) = Lines::open(&path, Position { offset, lines: 0 }) else { continue };
        if skipped > 0 && !matches!(lines.next(), Ok(Some(_))) {
            continue;
        }
        while let Ok(Some(raw)) = lines.next() {
            if raw.bytes.as_deref().is_some_and(&wants) {
                found.extend(parse(raw).ok().flatten());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_whole_lines_of_the_newest_segments_and_no_more_bytes_than_asked_for() {
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
        let some =
            tail(dir.path(), 1 << 20, |bytes| bytes.windows(6).any(|part| part == b"\"id\":\"")).unwrap();
        assert_eq!(some.len(), 4);
        assert!(tail(&dir.path().join("none"), 1, |_| true).unwrap().is_empty());
    }
}
