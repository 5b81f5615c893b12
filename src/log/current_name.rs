//! The name of the open segment, stored in the lock file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::SegmentName;

/// Reads it; `None` if the content is not the plain name of a segment.
pub fn read(lock: &File) -> Option<SegmentName> {
    let mut bytes = [0; 64];
    let count = lock.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes[..count]).ok()?.strip_suffix('\n')?;
    SegmentName::parse(text).filter(|name| !name.is_single_line())
}

/// Writes it. All names have the same length, so nothing of the previous one remains.
pub fn write(lock: &File, name: &SegmentName) -> io::Result<()> {
    let text = format!("{name}\n");
    if lock.metadata()?.len() > text.len() as u64 {
        lock.set_len(0)?;
    }
    lock.write_all_at(text.as_bytes(), 0)
}
