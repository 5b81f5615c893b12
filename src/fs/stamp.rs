//! File stamps: detect changes without reading.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Metadata that distinguishes two states of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content (mtime), in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of content or inode (ctime), in nanoseconds since 1970.
    pub changed: i64,
    /// Inode number.
    pub inode: u64,
}

impl Stamp {
    /// Builds the stamp from metadata.
    pub fn of(metadata: &Metadata) -> Stamp {
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Stamp {
            size: metadata.len(),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }
}
