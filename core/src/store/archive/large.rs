//! Hashes and copies files in pieces that are too large to be read at once.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Instant;

use fs_err::File;

use super::object::{MAX_BYTES, Objects};
use crate::sys::fs::{self, Draft, Stamp};

/// Size of a piece, in bytes.
const CHUNK_BYTES: usize = 1 << 18;

/// Disk space that a copy must leave free, in bytes: the recorded session needs some, too.
const LEFT_FREE: u64 = 64 << 20;

/// A file that was read completely.
#[derive(Debug)]
pub(super) struct CopiedFile {
    pub hash: String,
    /// In bytes.
    pub size: u64,
    /// From before the first byte was read.
    pub stamp: Stamp,
    /// Whether size and times were unchanged after the last byte.
    pub steady: bool,
}

impl Objects {
    /// Stores the content of a file as an object and syncs it to disk.
    ///
    /// # Errors
    /// `TimedOut` if `until` passes, `StorageFull` if the disk does not have enough space, `FileTooLarge` if the file
    /// exceeds the maximum size of an object, and errors of reading and writing.
    pub(super) fn copy(&self, from: &Path, until: Option<Instant>) -> io::Result<CopiedFile> {
        let file = open(from)?;
        let mut draft = Draft::create(&self.root().join("large"))?;
        check_room(&file, self.root())?;
        let copied = read(&file, until, |piece| draft.write_all(piece))?;
        let path = self.path(&copied.hash).ok_or(io::ErrorKind::InvalidInput)?;
        path.parent().map_or(Ok(()), fs::private_dir)?;
        draft.rename_synced(&path)?;
        Ok(copied)
    }
}

/// Reads a file only for its hash and size, with the errors of [`Objects::copy`].
pub(super) fn measure(from: &Path, until: Option<Instant>) -> io::Result<CopiedFile> {
    read(&open(from)?, until, |_| Ok(()))
}

fn open(path: &Path) -> io::Result<File> {
    let file = fs::open_regular(path)?;
    check_size(path, file.metadata()?.len())?;
    Ok(file)
}

fn check_size(path: &Path, size: u64) -> io::Result<()> {
    if size > MAX_BYTES {
        let what = format!("{} is larger than 2 GiB", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(())
}

fn read(
    mut file: &File,
    until: Option<Instant>,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<CopiedFile> {
    let stamp = |file: &File| file.metadata().map(|metadata| Stamp::of(&metadata));
    let before = stamp(file)?;
    let (mut hasher, mut piece, mut size) = (blake3::Hasher::new(), vec![0; CHUNK_BYTES], 0u64);
    loop {
        let bytes = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => &piece[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        size += bytes.len() as u64;
        check_size(file.path(), size)?;
        if until.is_some_and(|until| Instant::now() >= until) {
            let what = format!("{} cannot be read to its end in time", file.path().display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        hasher.update(bytes);
        each(bytes)?;
    }
    let steady = before == stamp(file)? && size == before.size;
    Ok(CopiedFile { hash: hasher.finalize().to_hex().to_string(), size, stamp: before, steady })
}

fn check_room(file: &File, root: &Path) -> io::Result<()> {
    let size = file.metadata()?.len();
    let disk = rustix::fs::statvfs(root)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if size.saturating_add(LEFT_FREE) > free {
        let what = format!("a copy needs {size} bytes of disk space, but only {free} are free");
        return Err(io::Error::new(io::ErrorKind::StorageFull, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::archive::object::Durability;

    #[test]
    fn a_copy_in_pieces_is_the_same_object_as_a_copy_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::new(dir.path().join("objects"));
        let from = dir.path().join("inbox.json");
        let text = b"0123456789".repeat(CHUNK_BYTES / 4);
        std::fs::write(&from, &text).unwrap();
        let copied = objects.copy(&from, None).unwrap();
        assert!(copied.steady && copied.size == text.len() as u64);
        assert_eq!(objects.get(&copied.hash).unwrap(), text);
        assert_eq!(copied.hash, objects.put(&text, Durability::Compared).unwrap());
        assert_eq!(measure(&from, None).unwrap().hash, copied.hash);
    }

    #[test]
    fn a_copy_that_ends_early_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::new(dir.path().join("objects"));
        let from = dir.path().join("inbox.json");
        std::fs::write(&from, "[]").unwrap();
        let late = objects.copy(&from, Some(Instant::now())).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        File::options().write(true).open(&from).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(objects.copy(&from, None).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(std::fs::read_dir(objects.root()).unwrap().count(), 0);
    }
}
