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

/// Whether this system has [`sync_all`].
pub const CAN_SYNC_ALL: bool = cfg!(target_os = "linux");

/// Syncs the whole file system of a directory: for thousands of files, this is much faster than one by one.
///
/// # Errors
/// When the directory cannot be opened, the disk refuses, or the system has no such call.
#[cfg(target_os = "linux")]
pub fn sync_all(dir: &Path) -> io::Result<()> {
    let file = open(dir, OFlags::empty())?;
    rustix::fs::syncfs(&file).map_err(|error| named(error.into(), "sync the file system of", dir))
}

/// Only Linux has such a call.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn sync_all(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
