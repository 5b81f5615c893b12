//! What is on the disk when the power fails.

use std::io;
use std::path::Path;

use rustix::fs::OFlags;

use super::named;
use super::read::open;

/// Brings a file's content to the disk. A pipe or device in its place holds nothing of ours, and is not waited for.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_file(path: &Path) -> io::Result<()> {
    let file = open(path, OFlags::empty())?;
    let kind = file.metadata().map_err(|error| named(error, "stat", path))?;
    if !(kind.is_file() || kind.is_dir()) {
        return Ok(());
    }
    file.sync_all().map_err(|error| named(error, "sync", path))
}

/// Brings a directory's entries to the disk.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    sync_file(path)
}
