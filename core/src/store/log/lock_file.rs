//! The content of the lock file: the name of the segment that is written to, and the head of the chain.

use std::io;
use std::path::Path;

use fs_err::File;
use fs_err::os::unix::fs::FileExt;
use serde::Serialize;

use super::{SegmentName, segments};
use crate::store::chain::{ChainHash, ChainPoint};
use crate::sys::clock::Timestamp;
use crate::sys::fs;

/// The lock's file.
pub(super) const LOCK: &str = ".lock";

/// All names have the same length, so that nothing of the previous one remains.
const NAME_BYTES: usize = 37;
const HEAD_BYTES: usize = 76;
const MAX_BYTES: usize = NAME_BYTES + HEAD_BYTES;

/// The newest line of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Head {
    /// How many lines the chain has had so far, those that were removed since included.
    pub count: u64,
    /// The hash of this line and, by that, of all before it.
    pub hash: ChainHash,
    /// When it was written, or when a segment began after a writer that was killed.
    pub at: Timestamp,
}

impl Head {
    pub fn point(&self) -> ChainPoint {
        ChainPoint { count: self.count, hash: self.hash }
    }
}

/// The head of the log's chain; `None` if there is none, or if the lock file is damaged. Takes no lock.
pub fn head(dir: &Path) -> Option<Head> {
    stored_head(dir).filter(|head| head.count > 0)
}

/// Like [`head`]; it has the number 0 while the first line is written.
pub fn stored_head(dir: &Path) -> Option<Head> {
    LockState::read(&fs::open_regular(&dir.join(LOCK)).ok()?).head
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LockState {
    pub segment: Option<SegmentName>,
    pub head: Option<Head>,
    /// Whether a line that is not in a segment is being written, or its writer was killed.
    pub is_unsettled: bool,
    is_too_long: bool,
}

impl LockState {
    /// An invalid part is `None`.
    pub fn read(file: &File) -> LockState {
        let mut bytes = [0; MAX_BYTES + 1];
        let count = file.read_at(&mut bytes, 0).unwrap_or(0);
        let (name, head) = bytes[..count].split_at(count.min(NAME_BYTES));
        let (head, is_unsettled) = head.get(..HEAD_BYTES).and_then(parse_head).unzip();
        LockState {
            segment: parse_name(name),
            head,
            is_unsettled: is_unsettled.unwrap_or(false),
            is_too_long: count > MAX_BYTES,
        }
    }

    /// The open segment: the named one, or else the newest.
    pub fn current(&self, dir: &Path) -> Option<SegmentName> {
        // A directory that cannot be listed means a new segment, no lost line.
        self.segment.clone().or_else(|| segments::newest(dir).unwrap_or_default())
    }

    /// Sets the head, after the line was written.
    pub fn settle(&mut self, point: ChainPoint, at: Timestamp) {
        self.head = Some(Head { count: point.count, hash: point.hash, at });
        self.is_unsettled = false;
    }

    /// Sets the current segment, and the head to the end of the chain, so that the next writer need not read earlier segments.
    /// A head that is missing stays so: the chain then starts again.
    pub fn begin_segment(&mut self, name: &SegmentName, end: ChainPoint, at: Timestamp) {
        self.segment = Some(name.clone());
        let is_known = end.count == 0 || end.hash != ChainHash::START;
        if is_known && self.head.is_none_or(|head| head.point() != end) {
            self.settle(end, at);
        }
    }

    /// Writes the whole state in one write.
    pub fn write(&mut self, file: &File) -> io::Result<()> {
        let head = self.head.map(|head| {
            let (mark, millis) = (if self.is_unsettled { '+' } else { '=' }, head.at.millis());
            format!("{mark}{:>20} {} {millis:>20}\n", head.count, head.hash)
        });
        let name = self.segment.as_ref().map(|name| format!("{name}\n")).unwrap_or_default();
        let text = format!("{name:NAME_BYTES$}{}", head.unwrap_or_default());
        file.write_all_at(text.as_bytes(), 0)?;
        if std::mem::take(&mut self.is_too_long) {
            file.set_len(text.len() as u64)?;
        }
        Ok(())
    }
}

fn parse_name(bytes: &[u8]) -> Option<SegmentName> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    SegmentName::parse(text).filter(|name| !name.is_single_line())
}

/// The head, and whether it is unsettled.
fn parse_head(bytes: &[u8]) -> Option<(Head, bool)> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let (mark, text) = text.split_at_checked(1)?;
    let mut fields = text.split_ascii_whitespace();
    let (count, hash, millis) = (fields.next()?, fields.next()?, fields.next()?);
    let at = Timestamp::from_millis(millis.parse().ok()?)?;
    let head = Head { count: count.parse().ok()?, hash: hash.parse().ok()?, at };
    (matches!(mark, "=" | "+") && fields.next().is_none()).then_some((head, mark == "+"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written_and_a_damaged_one_in_parts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK);
        let lock = fs::lock(&path, std::time::Duration::ZERO).unwrap().unwrap();
        let file = &lock.file;
        assert_eq!((LockState::read(file), head(dir.path())), (LockState::default(), None));
        let name = SegmentName::parse("2026-02-03T040506789Z-aaaaaaaa.jsonl").unwrap();
        let known = Head {
            count: u64::MAX,
            hash: ChainHash::START.with_line(b""),
            at: crate::sys::clock::parse("2026-02-03T04:05:06.789Z").unwrap(),
        };
        for (segment, head, is_unsettled) in [
            (Some(name.clone()), Some(known), false),
            (Some(name.clone()), Some(known), true),
            (None, Some(known), false),
            (Some(name.clone()), None, false),
        ] {
            file.set_len(0).unwrap();
            let mut state = LockState { segment, head, is_unsettled, is_too_long: false };
            state.write(file).unwrap();
            assert_eq!(LockState::read(file), state);
        }
        LockState { segment: Some(name.clone()), head: Some(known), ..LockState::default() }
            .write(file)
            .unwrap();
        let mut state = LockState::read(file);
        state.begin_segment(&name, known.point(), known.at);
        state.write(file).unwrap();
        assert_eq!(head(dir.path()), Some(known));
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len(), MAX_BYTES);
        std::fs::write(&path, &whole[..MAX_BYTES - 1]).unwrap();
        assert_eq!(LockState::read(file), LockState { segment: Some(name.clone()), ..LockState::default() });
        std::fs::write(&path, "x".repeat(999)).unwrap();
        let mut state = LockState::read(file);
        assert_eq!((state.segment.clone(), state.head), (None, None));
        state.begin_segment(&name, ChainPoint::default(), known.at);
        state.write(file).unwrap();
        assert_eq!(std::fs::read(&path).unwrap().len(), MAX_BYTES);
        let first = Head { at: known.at, ..Head::default() };
        assert_eq!((head(dir.path()), stored_head(dir.path())), (None, Some(first)));
    }
}
