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
    last: Option<ChainPoint>,
}

impl Tail {
    pub fn open(dir: &Path, name: &SegmentName) -> io::Result<Tail> {
        let file = Appender::open(&dir.join(name.as_str()))?;
        let end = file.last_bytes(MAX_MARK_BYTES + 1)?;
        let is_torn = end.last().is_some_and(|last| *last != b'\n');
        Ok(Tail { name: name.clone(), file, is_torn, last: point_at(&end) })
    }

    /// Appends a line. An incomplete line before it is ended in the same write.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let ended = self.is_torn.then(|| [b"\n", line].concat());
        self.file.append(ended.as_deref().unwrap_or(line)).map(drop)
    }
}

/// The point after which a line of this segment comes.
pub(super) fn chain_end(
    dir: &Path,
    state: &LockState,
    tail: &Tail,
    former: Option<&SegmentName>,
) -> ChainPoint {
    let last = match tail.file.length {
        0 => last_before(dir, &tail.name, former),
        _ => tail.last,
    };
    end(dir, state, last)
}

/// The same for a line that is not in a segment; `current` is the segment that is written to.
pub(super) fn last_point(dir: &Path, state: &LockState, current: Option<&SegmentName>) -> ChainPoint {
    let path = current.map(|name| dir.join(name.as_str()));
    let is_empty = |path: &Path| path.metadata().map_or(true, |there| there.len() == 0);
    let last = match (current, path) {
        (Some(name), Some(path)) if is_empty(&path) => last_before(dir, name, current),
        (_, path) => path.and_then(|path| point_in(&path)),
    };
    end(dir, state, last)
}

/// The last line before an empty segment. A writer that was killed may not have stored it as the head.
fn last_before(dir: &Path, empty: &SegmentName, former: Option<&SegmentName>) -> Option<ChainPoint> {
    if let Some(former) = former.filter(|former| *former != empty) {
        return point_in(&dir.join(former.as_str()));
    }
    let segments = segments::list(dir).unwrap_or_default();
    let is_before = |name: &SegmentName| !name.is_single_line() && name < empty;
    let before = segments.iter().rfind(|segment| is_before(&segment.name))?;
    point_in(&before.path(dir))
}

/// The end of the chain, from the head and the last line that is there.
fn end(dir: &Path, state: &LockState, last: Option<ChainPoint>) -> ChainPoint {
    let head = state.head.as_ref().map(Head::point);
    let reads_changes = state.is_unsettled || head.is_none();
    let recorded = reads_changes.then(|| point_in(&changes_path(dir))).flatten();
    let found = [last, recorded].into_iter().flatten().max_by_key(|point| point.count);
    match (head, found) {
        // Its writer was killed before it stored the head.
        (Some(head), Some(found)) if found.count > head.count => found,
        (Some(head), _) => head,
        // The head was removed or damaged. A line that continues as if nothing had happened would hide that others were removed with it.
        (None, Some(found)) => ChainPoint { hash: ChainHash::START, ..found },
        (None, None) => ChainPoint::default(),
    }
}

/// The last line of a file, if it is complete and in the chain.
fn point_in(path: &Path) -> Option<ChainPoint> {
    point_at(&fs::read_end(path, MAX_MARK_BYTES + 1).ok()?)
}

fn point_at(end: &[u8]) -> Option<ChainPoint> {
    match Sealed::read(end.strip_suffix(b"\n")?)?.mark {
        Mark::Chained(link) => Some(link.point()),
        Mark::Single(_) => None,
    }
}
