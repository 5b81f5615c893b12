//! The end of the chain: after which line the next one comes.

use std::io;
use std::path::Path;

use super::changes::changes_path;
use super::lock_file::{Head, LockState};
use super::seal::{MAX_MARK_BYTES, Mark, Sealed};
use super::{SegmentName, segments};
use crate::store::chain::{ChainHash, ChainPoint};
use crate::sys::fs::{self, Appender};

/// A segment that is open for appending.
#[derive(Debug)]
pub(super) struct Tail {
    pub name: SegmentName,
    pub file: Appender,
    /// Whether the last line has no line break, because its writer was killed.
    pub is_torn: bool,
    /// The last line that is in the chain.
    pub last: Option<ChainPoint>,
}

impl Tail {
    pub fn open(dir: &Path, name: &SegmentName) -> io::Result<Tail> {
        let file = Appender::open(&dir.join(name.as_str()))?;
        let end = file.last_bytes(MARK_AND_BREAK)?;
        let is_torn = end.last().is_some_and(|last| *last != b'\n');
        let last = last_in(end, |most| file.last_bytes(most))?;
        Ok(Tail { name: name.clone(), file, is_torn, last })
    }

    /// Appends a line. An incomplete line before it is ended in the same write.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let ended = self.is_torn.then(|| [b"\n", line].concat());
        self.file.append(ended.as_deref().unwrap_or(line)).map(drop)
    }
}

/// The end of the chain if this segment is written to.
pub(super) fn chain_end(
    dir: &Path,
    state: &LockState,
    current: Option<&SegmentName>,
) -> io::Result<ChainPoint> {
    let last = current.map(|name| point_in(&dir.join(name.as_str()))).transpose()?;
    chain_end_after(dir, state, last.flatten())
}

/// The end of the chain, from the head and the last line of the segment that is written to. The head that is stored when a
/// segment begins includes the segments before it.
pub(super) fn chain_end_after(
    dir: &Path,
    state: &LockState,
    last: Option<ChainPoint>,
) -> io::Result<ChainPoint> {
    let head = state.head.as_ref().map(Head::point);
    let mut found = last;
    if state.is_unsettled || head.is_none() {
        found = later(found, point_in(&changes_path(dir))?);
    }
    if head.is_none() && last.is_none() {
        found = later(found, last_in_segments(dir)?);
    }
    Ok(match (head, found) {
        // Its writer was killed before it stored the head.
        (Some(head), Some(found)) if found.count > head.count => found,
        (Some(head), _) => head,
        // The head was removed or damaged. A line that continues as if nothing had happened would hide that others were removed with it.
        (None, Some(found)) => ChainPoint { hash: ChainHash::START, ..found },
        (None, None) => ChainPoint::default(),
    })
}

/// The one with the higher number.
fn later(one: Option<ChainPoint>, other: Option<ChainPoint>) -> Option<ChainPoint> {
    [one, other].into_iter().flatten().max_by_key(|point| point.count)
}

/// How many of the newest segments are searched if the head is missing: a log that an older version wrote can be large.
const MAX_SEARCHED: usize = 2;

/// The last line in the chain of the newest segments.
fn last_in_segments(dir: &Path) -> io::Result<Option<ChainPoint>> {
    let segments = segments::list(dir)?;
    let written = segments.iter().rev().filter(|segment| !segment.name.is_single_line() && segment.size > 0);
    written.take(MAX_SEARCHED).try_fold(None, |last, segment| Ok(later(last, point_in(&segment.path(dir))?)))
}

/// The last line of a file that is in the chain; `None` if the file is missing.
fn point_in(path: &Path) -> io::Result<Option<ChainPoint>> {
    let read_end = |most| fs::read_end(path, most);
    let Some(end) = fs::if_exists(read_end(MARK_AND_BREAK))? else { return Ok(None) };
    last_in(end, read_end)
}

/// The size of a mark and a line break, in bytes.
const MARK_AND_BREAK: usize = MAX_MARK_BYTES + 1;

/// The last line of a file that is in the chain. `bytes` is its end, up to [`MARK_AND_BREAK`]; `read_end` reads more. Skips lines
/// that killed writers cut off. A line that lacks only its line break counts, as it does for readers.
fn last_in(
    mut bytes: Vec<u8>,
    read_end: impl Fn(usize) -> io::Result<Vec<u8>>,
) -> io::Result<Option<ChainPoint>> {
    let mut most = MARK_AND_BREAK;
    loop {
        let is_whole_file = bytes.len() < most;
        let mut lines = bytes.rsplit(|byte| *byte == b'\n').peekable();
        let mut has_line_break = false;
        while let Some(line) = lines.next() {
            let is_whole = is_whole_file || lines.peek().is_some();
            let sealed = Sealed::read(line);
            match sealed.filter(|sealed| has_line_break || is_whole && sealed.is_intact()) {
                Some(Sealed { mark: Mark::Chained(link), .. }) => return Ok(Some(link.point())),
                _ => has_line_break = true,
            }
        }
        if is_whole_file {
            return Ok(None);
        }
        most = most.saturating_mul(16);
        bytes = read_end(most)?;
    }
}
