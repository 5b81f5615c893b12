//! Files that are there whole or not at all.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{named, open_private, sync_dir};

/// Puts a file in place whole or not at all: a temporary file beside it, then a rename. With `durable`
/// both the file and its directory are on disk (fsync) when this returns.
///
/// # Errors
/// When the disk refuses; the temporary file is removed then.
pub fn write_atomic(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let mut draft = Draft::beside(path)?;
    draft.write(bytes)?;
    draft.place(path, durable)
}

/// A file that is written piece by piece and gets its name when it is complete. Until then, dropping it removes it.
pub struct Draft {
    file: File,
    temporary: PathBuf,
    is_placed: bool,
}

impl Draft {
    /// Creates it in the same directory as `path`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn beside(path: &Path) -> io::Result<Draft> {
        let (temporary, file) = create_beside(path)?;
        Ok(Draft { file, temporary, is_placed: false })
    }

    /// Writes the next piece.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).map_err(|error| named(error, "write", &self.temporary))
    }

    /// Renames it to `path`, on the same file system. With `durable` both the file and the directory are on disk (fsync)
    /// when this returns.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn place(mut self, path: &Path, durable: bool) -> io::Result<()> {
        if durable {
            self.file.sync_all().map_err(|error| named(error, "sync", &self.temporary))?;
        }
        std::fs::rename(&self.temporary, path).map_err(|error| named(error, "rename to", path))?;
        self.is_placed = true;
        match path.parent() {
            Some(parent) if durable && parent.as_os_str().is_empty() => {
                // A bare name lies in the current directory.
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

/// Makes a new file beside `path`. A name that is taken is a leftover, or chance: the next is tried.
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

/// A name beside `path` that no other writer uses.
pub fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    // In a container every process may have the same id, and those that were killed leave their files.
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
