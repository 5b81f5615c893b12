//! The stored history of the files that the agents of a run used: `files.jsonl` in its directory, one record a line. A hook call
//! reads only the records of its file, and appends those that it adds.

use std::io;
use std::path::{Path, PathBuf};

use crate::policy::{Access, FileHistory, FileRecord};
use crate::sys::fs::{self, Appender, json_lines, write_atomic};

/// A file that would become larger than this is rewritten, at most half as large.
const MAX_BYTES: u64 = 96 << 10;
/// The part of a damaged file that is read.
const MAX_READ_BYTES: u64 = 1 << 20;

#[derive(Debug)]
pub struct FileLog(PathBuf);

impl FileLog {
    /// Of the run with this directory.
    pub fn of(dir: &Path) -> FileLog {
        FileLog(dir.join("files.jsonl"))
    }

    /// The history as far as a call needs it. A file that cannot be read is an empty history, and lines that are not records
    /// are skipped: gates that prevent mistakes must not fail for their own records.
    pub fn read(&self, access: Option<&Access>) -> FileHistory {
        match access {
            Some(Access::Reads(place) | Access::Changes(place)) => self.read_path(&place.path),
            Some(Access::Git { calls, .. }) if !calls.is_empty() => self.read_all(),
            _ => FileHistory::default(),
        }
    }

    pub fn read_all(&self) -> FileHistory {
        history(self.text().lines())
    }

    fn read_path(&self, path: &str) -> FileHistory {
        let text = self.text();
        let end = format!("\"path\":{}}}", serde_json::Value::from(path));
        let mut history = history(text.lines().filter(|line| line.ends_with(&end)));
        // The last line has the number of the last call.
        let last = text.lines().rev().find_map(|line| serde_json::from_str::<FileRecord>(line).ok());
        history.order = last.map_or(history.order, |last| history.order.max(last.order));
        history
    }

    fn text(&self) -> String {
        let read = fs::read_regular(&self.0, MAX_READ_BYTES);
        read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Adds records. The caller holds the lock of the run's counts.
    pub fn append(&self, records: &[FileRecord]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        // A link or a pipe in its place would fail every call.
        if self.0.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return write_atomic(&self.0, &json_lines(records)?);
        }
        let mut file = Appender::open(&self.0)?;
        file.append_line(&json_lines(records)?)?;
        if file.length <= MAX_BYTES {
            return Ok(());
        }
        let mut history = self.read_all();
        let mut text = json_lines(&history.records())?;
        while text.len() as u64 > MAX_BYTES / 2 && history.count() > 0 {
            history.keep(history.count() / 4 * 3);
            text = json_lines(&history.records())?;
        }
        write_atomic(&self.0, &text)
    }
}

fn history<'a>(lines: impl Iterator<Item = &'a str>) -> FileHistory {
    let mut history = FileHistory::default();
    lines.filter_map(|line| serde_json::from_str(line).ok()).for_each(|record| history.insert(record));
    history
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Place;

    /// A read.
    fn read(order: u64, by: &str, path: &str) -> FileRecord {
        let line = serde_json::json!({"n": order, "by": by, "did": {"read": order}, "path": path});
        serde_json::from_value(line).unwrap()
    }

    fn log(dir: &tempfile::TempDir) -> FileLog {
        FileLog::of(dir.path())
    }

    #[test]
    fn a_call_reads_the_records_of_its_file_and_the_number_of_the_last_call() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        log.append(&[read(1, "bob", "/a \"b\""), read(2, "bob", "/other"), read(3, "alice", "/x/a \"b\"")])
            .unwrap();
        let place = Place { path: "/a \"b\"".to_owned(), ..Place::default() };
        let history = log.read(Some(&Access::Reads(place.clone())));
        assert_eq!((history.count(), history.order), (1, 3));
        assert_eq!(log.read_all().count(), 3);
        assert_eq!(log.read(None), FileHistory::default());
        let text = std::fs::read_to_string(&log.0).unwrap();
        std::fs::write(&log.0, format!("{{\"n\":9}}\n\u{0}\n{text}{{\"n\":99,\"by\":\"b")).unwrap();
        let history = log.read(Some(&Access::Changes(place)));
        assert_eq!((history.count(), history.order), (1, 3), "damaged lines are skipped");
        log.append(&[read(4, "bob", "/new")]).unwrap();
        assert_eq!((log.read_all().count(), log.read_all().order), (4, 4), "and a torn one is ended");
    }

    #[test]
    fn a_link_in_its_place_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let other = dir.path().join("other");
        std::fs::write(&other, "other").unwrap();
        std::os::unix::fs::symlink(&other, &log.0).unwrap();
        log.append(&[read(1, "bob", "/a")]).unwrap();
        assert_eq!((log.read_all().count(), std::fs::read(other).unwrap()), (1, b"other".to_vec()));
    }

    #[test]
    fn a_file_that_grows_is_rewritten_with_the_newest_entries() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let path = |number: u64| format!("/{number}/{}", "x".repeat(700));
        for number in 1..=400 {
            log.append(&[read(number, "bob", &path(number))]).unwrap();
            assert!(log.0.metadata().unwrap().len() <= MAX_BYTES, "{number}");
        }
        let history = log.read_all();
        assert!((40..256).contains(&history.count()) && history.order == 400, "{}", history.count());
        let place = |number| Access::Reads(Place { path: path(number), ..Place::default() });
        assert_eq!((log.read(Some(&place(400))).count(), log.read(Some(&place(1))).count()), (1, 0));
    }
}
