//! The content of a log's lock file: the head of its chain.

use std::io;
use std::path::Path;

use fs_err::File;
use fs_err::os::unix::fs::FileExt;

use crate::chain::ChainPoint;
use teamkeep_system::fs;

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
        lock.read_exact_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?.strip_suffix('\n')?;
        let (point, size) = text.split_at_checked(POINT_BYTES)?;
        Some(Head { point: point.trim_start().parse().ok()?, size: size.trim_start().parse().ok()? })
    }

    pub(super) fn write(&self, lock: &File) -> io::Result<()> {
        let point = self.point.to_string();
        lock.write_all_at(format!("{point:>POINT_BYTES$} {:>20}\n", self.size).as_bytes(), 0)
    }
}

/// The head of the log in this directory. Takes no lock.
pub(super) fn head(dir: &Path) -> Option<Head> {
    Head::read(&fs::open_regular(&dir.join(LOCK)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainHash;

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
}
