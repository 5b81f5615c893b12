//! The states of journals that a hook call wrote. Its event names them, so that the log's chain also covers the journals.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::chain::{ChainHash, ChainPoint, InvalidPoint};
use crate::packed;

/// The journal that is written under the lock.
pub(super) const MAIN: &str = "snapshots.jsonl";
/// Marks a journal that was written without the lock.
const SINGLE: &str = "single:";

/// The state of a run's journal after a line: its size in bytes, and the hash of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalPoint {
    /// Whether it is the journal that is written under the lock. The other one is named after the event.
    pub is_main: bool,
    pub point: ChainPoint,
}

impl JournalPoint {
    /// The name of the journal's file; `event` is the ID of the event that names this point.
    pub fn file_name(&self, event: &str) -> String {
        if self.is_main { MAIN.to_owned() } else { single_journal(event) }
    }
}

/// The name of the journal of a call that did not get the lock.
pub(super) fn single_journal(event: &str) -> String {
    format!("snapshots-{event}.jsonl")
}

impl fmt::Display for JournalPoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_main { "" } else { SINGLE };
        write!(out, "{mark}{}", self.point)
    }
}

impl FromStr for JournalPoint {
    type Err = InvalidPoint;

    fn from_str(text: &str) -> Result<JournalPoint, InvalidPoint> {
        let single = text.strip_prefix(SINGLE);
        Ok(JournalPoint { is_main: single.is_none(), point: single.unwrap_or(text).parse()? })
    }
}

/// The last state of each journal that was written through one archive, by run.
#[derive(Debug, Clone, Default)]
pub struct JournalPoints(Arc<Mutex<BTreeMap<String, String>>>);

impl JournalPoints {
    pub(super) fn note(&self, run: &str, point: JournalPoint) {
        let mut points = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        points.insert(run.to_owned(), point.to_string());
    }

    /// Each run and the text of its point; empty if no journal was written.
    pub fn get(&self) -> BTreeMap<String, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The state of a whole journal.
pub(super) fn read_point(path: &Path) -> io::Result<ChainPoint> {
    let mut point = ChainPoint::default();
    let mut from = BufReader::new(packed::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let size = from.read_until(b'\n', &mut line)?;
        if size == 0 {
            return Ok(point);
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        point = ChainPoint { count: point.count + size as u64, hash: point.hash.with_line(text) };
    }
}

/// The state after a line that was just written at this offset, from the state before it.
pub(super) fn point_after(
    path: &Path,
    before: ChainPoint,
    offset: u64,
    line: &[u8],
) -> io::Result<ChainPoint> {
    if offset != before.count {
        // Another version wrote the index, or a writer was killed.
        return read_point(path);
    }
    let hash: ChainHash = before.hash.with_line(line.strip_suffix(b"\n").unwrap_or(line));
    Ok(ChainPoint { count: offset + line.len() as u64, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_after_a_line_is_that_of_the_whole_journal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(MAIN);
        let mut point = ChainPoint::default();
        let mut whole = Vec::new();
        for line in [&b"one\n"[..], b"\n", b"three\n"] {
            let offset = whole.len() as u64;
            whole.extend_from_slice(line);
            std::fs::write(&path, &whole).unwrap();
            point = point_after(&path, point, offset, line).unwrap();
            assert_eq!(point, read_point(&path).unwrap());
        }
        let unknown = ChainPoint { count: 1, ..ChainPoint::default() };
        assert_eq!(point_after(&path, unknown, 5, b"three\n").unwrap(), point);
        for is_main in [true, false] {
            let known = JournalPoint { is_main, point };
            assert_eq!(known.to_string().parse(), Ok(known));
        }
    }
}
