//! The mark at the end of a line: its place in the chain, the hash of the line before it, and its own hash. The content of a log's lock file, which has the
//! newest such point, and the last line of a segment, which has it if the lock file does not.

use std::io;
use std::io::Write as _;
use std::path::Path;

use fs_err::File;

use crate::chain::{ChainHash, ChainPoint};
use teamkeep_system::fs;
use teamkeep_system::fs::Appender;
use teamkeep_system::os;

const KEY: &[u8] = br#","chain":""#;
const END: &[u8] = br#""}"#;
/// Marks the only line of a segment whose writer did not get the lock.
const SINGLE: &str = "single";
/// The longest mark: the key, a number of 20 digits, two hashes of 32, two colons and the end.
pub const MAX_MARK_BYTES: usize = KEY.len() + 20 + 32 + 32 + 2 + END.len();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Chained(Link),
    /// Of a line that was written without the lock.
    Single(ChainHash),
}

/// The place of a line in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// From 1.
    pub number: u64,
    /// The hash of the line before it; [`ChainHash::START`] for the first line, and if the writer did not find the head.
    pub after: ChainHash,
    pub hash: ChainHash,
}

impl Link {
    pub fn point(&self) -> ChainPoint {
        ChainPoint { count: self.number, hash: self.hash }
    }
}

/// A line with its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed<'a> {
    body: &'a [u8],
    pub mark: Mark,
}

impl<'a> Sealed<'a> {
    /// Reads the mark of a line without its line break; `None` if it has none.
    pub fn read(line: &'a [u8]) -> Option<Sealed<'a>> {
        let start = line.len().saturating_sub(MAX_MARK_BYTES);
        let tail = line[start..].strip_suffix(END)?;
        let key = tail.windows(KEY.len()).rposition(|part| part == KEY)?;
        let text = std::str::from_utf8(&tail[key + KEY.len()..]).ok()?;
        let mut fields = text.split(':');
        let number = fields.next()?;
        let mark = match number {
            SINGLE => Mark::Single(fields.next()?.parse().ok()?),
            number => Mark::Chained(Link {
                number: number.parse().ok()?,
                after: fields.next()?.parse().ok()?,
                hash: fields.next()?.parse().ok()?,
            }),
        };
        fields.next().is_none().then_some(Sealed { body: &line[..start + key], mark })
    }

    /// Whether the line is as it was written.
    pub fn is_intact(&self) -> bool {
        match self.mark {
            Mark::Chained(link) => ChainHash::of_line(link.number, link.after, self.body) == link.hash,
            Mark::Single(hash) => single_hash(self.body) == hash,
        }
    }
}

/// The lines of a file that the chain can have: its objects.
fn body(line: &[u8]) -> Option<&[u8]> {
    let body = line.strip_suffix(b"}\n")?;
    (body.len() > 1 && body.starts_with(b"{")).then_some(body)
}

/// The largest size of a line with its mark, in bytes.
pub(super) fn sealed_size(line: &[u8]) -> u64 {
    (line.len() + body(line).map_or(0, |_| MAX_MARK_BYTES)) as u64
}

/// Adds the mark to a line, which comes after this one. Returns also its own place. `None` if the line is not an object.
pub(super) fn seal(line: &[u8], previous: ChainPoint) -> Option<(Vec<u8>, ChainPoint)> {
    let body = body(line)?;
    let count = previous.count.saturating_add(1);
    let hash = ChainHash::of_line(count, previous.hash, body);
    let sealed = with_mark(body, format_args!("{count}:{}:{hash}", previous.hash));
    Some((sealed, ChainPoint { count, hash }))
}

/// Adds the mark of a line that is written without the lock.
pub(super) fn seal_single(line: &[u8]) -> Option<Vec<u8>> {
    let body = body(line)?;
    Some(with_mark(body, format_args!("{SINGLE}:{}", single_hash(body))))
}

fn single_hash(body: &[u8]) -> ChainHash {
    ChainHash::of_line(0, ChainHash::START, body)
}

fn with_mark(body: &[u8], mark: std::fmt::Arguments<'_>) -> Vec<u8> {
    let mut line = Vec::with_capacity(body.len() + MAX_MARK_BYTES + 1);
    line.extend_from_slice(body);
    line.extend_from_slice(KEY);
    // Writing to memory does not fail.
    let _ = line.write_fmt(mark);
    line.extend_from_slice(END);
    line.push(b'\n');
    line
}

// The content of a log's lock file: the head of its chain.

/// The lock's file.
pub(super) const LOCK: &str = "events.lock";
/// A point has at most 20 digits, a colon and 32 digits.
const POINT_BYTES: usize = 53;
/// All heads have the same length, so that nothing of the previous one remains.
const BYTES: usize = POINT_BYTES + 22;

/// The newest line of a log, as its writer left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Head {
    pub point: ChainPoint,
    /// The size of the current segment in bytes, after this line.
    pub(super) size: u64,
}

impl Head {
    /// `None` if there is none, or if it is damaged.
    pub(super) fn read(lock: &File) -> Option<Head> {
        let mut bytes = [0; BYTES];
        os::files::read_exact_at(lock, &mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?.strip_suffix('\n')?;
        let (point, size) = text.split_at_checked(POINT_BYTES)?;
        Some(Head { point: point.trim_start().parse().ok()?, size: size.trim_start().parse().ok()? })
    }

    pub(super) fn write(&self, lock: &File) -> io::Result<()> {
        let point = self.point.to_string();
        let line = format!("{point:>POINT_BYTES$} {:>20}\n", self.size);
        os::files::write_all_at(lock, line.as_bytes(), 0)
    }
}

/// The head of the log in this directory. Takes no lock.
pub(super) fn head(dir: &Path) -> Option<Head> {
    Head::read(&fs::open_regular(&dir.join(LOCK)).ok()?)
}

// The last line of a segment that is in the chain.

/// The last line of a file that is in the chain. Skips lines that killed writers cut off. A line that lacks only its line break
/// counts, as it does for readers.
pub(super) fn last_point(file: &Appender) -> io::Result<Option<ChainPoint>> {
    let mut most = MAX_MARK_BYTES + 1;
    loop {
        let bytes = file.last_bytes(most)?;
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainHash;

    fn text(line: &[u8]) -> &[u8] {
        line.strip_suffix(b"\n").unwrap()
    }

    #[test]
    fn a_sealed_line_is_the_same_object_with_one_more_field() {
        let (line, point) = seal(b"{\"v\":1,\"payload\":{\"a\":[1]}}\n", ChainPoint::default()).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&value["v"], &value["payload"]["a"][0]), (&1.into(), &1.into()));
        assert_eq!(value["chain"], format!("1:{}:{}", ChainHash::START, point.hash));
        let read = Sealed::read(text(&line)).unwrap();
        let link = Link { number: 1, after: ChainHash::START, hash: point.hash };
        assert_eq!((read.mark, read.is_intact()), (Mark::Chained(link), true));
        let (next, _) = seal(&line, ChainPoint { count: u64::MAX - 1, hash: point.hash }).unwrap();
        assert!(Sealed::read(text(&next)).unwrap().is_intact(), "the longest number");
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        for line in [
            seal(b"{\"v\":1,\"id\":\"x\"}\n", ChainPoint::default()).unwrap().0,
            seal_single(b"{\"v\":1,\"id\":\"x\"}\n").unwrap(),
        ] {
            let line = text(&line);
            for place in 0..line.len() {
                let mut changed = line.to_vec();
                changed[place] ^= 1;
                let read = Sealed::read(&changed);
                assert!(read.is_none_or(|read| !read.is_intact()), "byte {place}");
            }
        }
    }

    #[test]
    fn only_a_mark_at_the_end_of_the_line_counts() {
        let (line, _) = seal(b"{\"v\":1}\n", ChainPoint::default()).unwrap();
        let inner = String::from_utf8(text(&line).to_vec()).unwrap();
        for other in [
            format!("{{\"payload\":{inner}}}"),
            format!("{{\"payload\":{}}}", serde_json::to_string(&inner).unwrap()),
            inner.replace(":000", "::000"),
            "{\"chain\":\"single:\"}".to_owned(),
            String::new(),
        ] {
            assert_eq!(Sealed::read(other.as_bytes()), None, "{other}");
        }
        for bad in ["one\n", "{}\n", "{\"v\":1}", ""] {
            assert!(seal(bad.as_bytes(), ChainPoint::default()).is_none());
        }
    }

    #[test]
    fn a_head_is_read_as_it_was_written_and_a_damaged_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK);
        let lock = fs::lock(&path, std::time::Duration::ZERO).unwrap().unwrap();
        assert_eq!(Head::read(&lock.file), None);
        for count in [u64::MAX, 7] {
            let point = ChainPoint { count, hash: ChainHash::START.with_line(b"x") };
            let written = Head { point, size: count };
            written.write(&lock.file).unwrap();
            assert_eq!((Head::read(&lock.file), head(dir.path())), (Some(written), Some(written)));
        }
        let whole = std::fs::read(&path).unwrap();
        for damaged in [&whole[..BYTES - 1], b"x".repeat(BYTES).as_slice()] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(head(dir.path()), None);
        }
    }

    #[test]
    fn the_longest_mark_has_the_size_that_is_reserved_for_it() {
        let line = b"{\"a\":1}\n";
        let (sealed, _) = seal(line, ChainPoint { count: u64::MAX - 1, hash: ChainHash::START }).unwrap();
        assert_eq!(sealed.len(), b"{\"a\":1".len() + MAX_MARK_BYTES + 1);
    }

    #[test]
    fn the_last_line_of_a_file_is_found_behind_what_killed_writers_left() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(10_000));
        let (first, point) = seal(long.as_bytes(), ChainPoint::default()).unwrap();
        let (second, last) = seal(long.as_bytes(), point).unwrap();
        let (short, of_short) = seal(b"{\"a\":1}\n", point).unwrap();
        let (torn, whole) = (&second[..2_000], &second[..second.len() - 1]);
        let mut damaged = whole.to_vec();
        damaged[100] = b'y';
        for (end, expected) in [
            (&b""[..], point),
            (torn, point),
            (&[torn, b"\n"].concat(), point),
            (&second, last),
            (whole, last),
            (&short[..short.len() - 1], of_short),
            (&damaged, point),
            (&[&second, torn].concat(), last),
        ] {
            let path = dir.path().join("file");
            std::fs::write(&path, [&first, end].concat()).unwrap();
            assert_eq!(last_point(&Appender::open(&path).unwrap()).unwrap(), Some(expected));
        }
        let only = &first[..first.len() - 1];
        for (all, expected) in [(&b""[..], None), (torn, None), (b"text\n", None), (only, Some(point))] {
            let path = dir.path().join("other");
            std::fs::write(&path, all).unwrap();
            assert_eq!(last_point(&Appender::open(&path).unwrap()).unwrap(), expected);
        }
    }
}
