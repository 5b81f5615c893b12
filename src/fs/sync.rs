//! Syncing files and directories to disk.

use std::io;
use std::path::Path;

use rustix::fs::OFlags;

use super::read::open;
use super::with_path;

/// Syncs a file's content to disk. Skips pipes and devices, which hold no data of teamkeep.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_file(path: &Path) -> io::Result<()> {
    let file = open(path, OFlags::empty())?;
    let kind = file.metadata().map_err(|error| with_path(error, "stat", path))?;
    if !(kind.is_file() || kind.is_dir()) {
        return Ok(());
    }
    file.sync_all().map_err(|error| with_path(error, "sync", path))
}

/// Syncs a directory's entries to disk.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    sync_file(path)
}
