//! Removals from the log, and the lines that were written without the lock, as lines of the same chain. So a removal by
//! retention differs from one by somebody else.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lines::{Lines, Position};
use super::seal::{Link, Mark, Sealed};
use super::{Segment, SegmentName};
use crate::store::chain::{ChainHash, ChainPoint};
use crate::sys::clock::Timestamp;
use crate::sys::fs;

const FILE: &str = "changes.jsonl";

/// The file of the changes to this log.
pub fn changes_path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// A change that no hook call made, recorded before it is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogChange {
    pub v: u8,
    pub at: Timestamp,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedLines>,
    /// Segments of a single line that belong to the chain from here on, with the line's hash.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub adopted: BTreeMap<String, ChainHash>,
    /// Runs that are removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pruned_runs: Vec<String>,
}

/// A removal from one segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemovedLines {
    pub segment: String,
    /// Whether the segment is removed, and not only these lines.
    pub whole: bool,
    /// Whether its only line was written without the lock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub single: bool,
    pub lines: Vec<LinkedLines>,
    /// The runs that have a copy of their lines of this segment, and the hash of all these lines.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, ChainHash>,
}

/// Consecutive lines of the chain: the numbers of the first and the last, the hash before the first, the hash of the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, ChainHash, ChainHash)", into = "(u64, u64, ChainHash, ChainHash)")]
pub struct LinkedLines {
    pub first: u64,
    pub last: u64,
    pub after: ChainHash,
    pub hash: ChainHash,
}

impl From<(u64, u64, ChainHash, ChainHash)> for LinkedLines {
    fn from((first, last, after, hash): (u64, u64, ChainHash, ChainHash)) -> LinkedLines {
        LinkedLines { first, last, after, hash }
    }
}

impl From<LinkedLines> for (u64, u64, ChainHash, ChainHash) {
    fn from(lines: LinkedLines) -> (u64, u64, ChainHash, ChainHash) {
        (lines.first, lines.last, lines.after, lines.hash)
    }
}

impl From<Link> for LinkedLines {
    fn from(link: Link) -> LinkedLines {
        LinkedLines { first: link.number, last: link.number, after: link.after, hash: link.hash }
    }
}

impl LinkedLines {
    /// Adds a line, if it is the next one.
    pub fn extend(&mut self, link: Link) -> bool {
        let is_next = self.last.checked_add(1) == Some(link.number) && self.hash == link.after;
        if is_next {
            (self.last, self.hash) = (link.number, link.hash);
        }
        is_next
    }

    /// Adds a line to a list, in the order of the file.
    pub fn push(list: &mut Vec<LinkedLines>, link: Link) {
        if !list.last_mut().is_some_and(|last| last.extend(link)) {
            list.push(link.into());
        }
    }

    pub fn end(&self) -> ChainPoint {
        ChainPoint { count: self.last, hash: self.hash }
    }

    /// The lines of a file that are in the chain.
    pub fn of_file(path: &Path) -> io::Result<Vec<LinkedLines>> {
        let mut list = Vec::new();
        for raw in Lines::open(path, Position::default())? {
            let bytes = raw?.bytes.unwrap_or_default();
            if let Some(Mark::Chained(link)) = Sealed::read(&bytes).map(|sealed| sealed.mark) {
                LinkedLines::push(&mut list, link);
            }
        }
        Ok(list)
    }
}

impl LogChange {
    pub fn new(at: Timestamp) -> LogChange {
        LogChange { v: 1, at, ..LogChange::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.adopted.is_empty() && self.pruned_runs.is_empty()
    }

    /// Parses a line of the file. Ignores its mark.
    pub fn parse(line: &[u8]) -> serde_json::Result<LogChange> {
        serde_json::from_slice(line)
    }

    /// All changes that can be read, oldest first.
    pub fn list(dir: &Path) -> io::Result<Vec<LogChange>> {
        let lines = fs::if_exists(Lines::open(&changes_path(dir), Position::default()))?;
        let raw: Vec<_> = lines.into_iter().flatten().collect::<io::Result<_>>()?;
        Ok(raw.iter().filter_map(|raw| LogChange::parse(raw.bytes.as_deref()?).ok()).collect())
    }

    /// The segments of a single line that no change has adopted yet. One that is being written is left for the next time.
    pub fn adopting(dir: &Path, segments: &[Segment], at: Timestamp) -> io::Result<LogChange> {
        let mut change = LogChange::new(at);
        let mut single = segments.iter().filter(|segment| segment.name.is_single_line()).peekable();
        if single.peek().is_none() {
            return Ok(change);
        }
        let known = LogChange::list(dir)?;
        let is_known =
            |name: &SegmentName| known.iter().any(|change| change.adopted.contains_key(name.as_str()));
        for segment in single.filter(|segment| !is_known(&segment.name)) {
            if let Some(hash) = single_hash(&segment.path(dir)) {
                change.adopted.insert(segment.name.to_string(), hash);
            }
        }
        Ok(change)
    }
}

/// The hash of the only line of a segment.
fn single_hash(path: &Path) -> Option<ChainHash> {
    let raw = Lines::open(path, Position::default()).ok()?.next()?.ok()?;
    match Sealed::read(&raw.bytes?)?.mark {
        Mark::Single(hash) if raw.whole => Some(hash),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_only_where_each_follows_the_one_before() {
        let hash = |number: u8| ChainHash::START.with_line(&[number]);
        let link = |number: u8| Link { number: number.into(), after: hash(number - 1), hash: hash(number) };
        let mut list = Vec::new();
        [1, 2, 5, 6, 4].into_iter().for_each(|number| LinkedLines::push(&mut list, link(number)));
        LinkedLines::push(&mut list, Link { after: hash(0), ..link(5) });
        let ranges: Vec<_> = list.iter().map(|lines| (lines.first, lines.last)).collect();
        assert_eq!(ranges, [(1, 2), (5, 6), (4, 4), (5, 5)]);
        assert_eq!((list[1].after, list[1].end()), (hash(4), link(6).point()));
        let text = serde_json::to_string(&list[0]).unwrap();
        assert_eq!(text, format!("[1,2,\"{}\",\"{}\"]", hash(0), hash(2)));
        assert_eq!(serde_json::from_str::<LinkedLines>(&text).unwrap(), list[0]);
    }
}
