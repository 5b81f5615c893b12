//! Atomic replacement of files.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{open_private, sync_dir, with_path};

/// Replaces a file atomically: writes a temporary file beside it, then renames it. With `durable`, the file and its
/// directory are synced to disk before this returns.
///
/// # Errors
/// When an I/O operation fails; the temporary file is removed then.
pub fn write_atomic(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let mut draft = Draft::temp_path(path)?;
    draft.write(bytes)?;
    draft.place(path, durable)
}

/// A file that is written in several steps and gets its final name when it is complete. Dropping it earlier removes it.
pub struct Draft {
    file: File,
    temporary: PathBuf,
    is_placed: bool,
}

impl Draft {
    /// Creates the temporary file in the directory of `path`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn temp_path(path: &Path) -> io::Result<Draft> {
        let (temporary, file) = create_beside(path)?;
        Ok(Draft { file, temporary, is_placed: false })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When the write fails.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).map_err(|error| with_path(error, "write", &self.temporary))
    }

    /// Renames the file to `path`, which must be on the same file system. With `durable`, the file and its directory
    /// are synced to disk before this returns.
    ///
    /// # Errors
    /// When syncing or renaming fails.
    pub fn place(mut self, path: &Path, durable: bool) -> io::Result<()> {
        if durable {
            self.file.sync_all().map_err(|error| with_path(error, "sync", &self.temporary))?;
        }
        std::fs::rename(&self.temporary, path).map_err(|error| with_path(error, "rename to", path))?;
        self.is_placed = true;
        match path.parent() {
            Some(parent) if durable && parent.as_os_str().is_empty() => {
                // The parent of a bare name is the current directory.
                sync_dir(Path::new("."))
            }
            Some(parent) if durable => sync_dir(parent),
            _ => Ok(()),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Creates a new file beside `path`. If the name is taken (a leftover or a coincidence), the next one is tried.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut tries = 0..8;
    loop {
        let temporary = beside(path);
        match open_private(std::fs::OpenOptions::new().write(true).create_new(true), &temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries.next().is_some() => {}
            other => return other.map(|file| (temporary, file)),
        }
    }
}

/// A file name beside `path` that no other writer uses.
pub fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    // Containers may reuse process ids, and killed writers leave their files behind.
    let random = RandomState::new().hash_one((std::process::id(), count));
    name.push(format!(".{random:016x}.tmp"));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_we_write_is_private_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/state.json");
        write_atomic(&path, b"one", false).unwrap();
        write_atomic(&path, b"two", true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(dir.path().join("a")).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
    }
}
