//! The disk's primitives: private directories, atomic writes, bounded locks, careful reads.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// Mode of every file that we make.
pub const PRIVATE_FILE: u32 = 0o600;
/// Mode of every directory that we make.
pub const PRIVATE_DIR: u32 = 0o700;

/// Makes a directory with all its parents, readable by the user alone.
///
/// # Errors
/// When it cannot be made, or something else stands in its place.
pub fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(PRIVATE_DIR);
    builder.create(path).map_err(|error| named(error, "make the directory", path))
}

/// Makes one directory that is not there yet, readable by the user alone.
///
/// # Errors
/// When it is there already, or cannot be made.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    let made = std::fs::DirBuilder::new().mode(PRIVATE_DIR).create(path);
    made.map_err(|error| named(error, "make the directory", path))
}

/// Opens with these options and mode 0600, making the parent directory when it is missing.
///
/// # Errors
/// As opening does, with the path named.
pub fn open_private(options: &mut std::fs::OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(PRIVATE_FILE);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                private_dir(parent)?;
            }
            options.open(path).map_err(|error| named(error, "open", path))
        }
        other => other.map_err(|error| named(error, "open", path)),
    }
}

/// Puts a file in place whole or not at all: a temporary file beside it, then a rename. With `durable`
/// both the file and its directory are on disk (fsync) when this returns.
///
/// # Errors
/// When the disk refuses; the temporary file is removed then.
pub fn write_atomic(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let temporary = beside(path);
    let written = open_private(std::fs::OpenOptions::new().write(true).create_new(true), &temporary)
        .and_then(|mut file| {
            file.write_all(bytes).map_err(|error| named(error, "write", &temporary))?;
            if durable { file.sync_all().map_err(|error| named(error, "sync", &temporary)) } else { Ok(()) }
        })
        .and_then(|()| std::fs::rename(&temporary, path).map_err(|error| named(error, "rename to", path)));
    match written {
        Ok(()) if durable => path.parent().map_or(Ok(()), sync_dir),
        Ok(()) => Ok(()),
        Err(error) => {
            let _ = std::fs::remove_file(&temporary);
            Err(error)
        }
    }
}

/// Writes over a file in place, for what can be made again: on ext4 a rename over a file makes its blocks be written
/// out at once, and leaves an inode that every new file has to be kept away from for five seconds. A reader may meet
/// a half-written state. What was longer before is filled up with spaces.
///
/// # Errors
/// When the disk refuses. Says whether the file was there.
pub fn write_over(path: &Path, mut bytes: Vec<u8>) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return write_atomic(path, &bytes, false).map(|()| false);
        }
        Err(error) => return Err(named(error, "open", path)),
    };
    let length = file.metadata().map_err(|error| named(error, "stat", path))?.len();
    bytes.resize(bytes.len().max(length as usize), b' ');
    file.write_all_at(&bytes, 0).map_err(|error| named(error, "write", path))?;
    Ok(true)
}

/// Appends one line in one write. A line that a killed writer left without its end is ended first; what the disk
/// took of a line that does not fit whole is taken back. The caller holds the lock on this file.
///
/// # Errors
/// When the disk refuses; the file is as it was then.
pub fn append_line(path: &Path, line: &[u8], durable: bool) -> io::Result<()> {
    let mut file = open_private(std::fs::OpenOptions::new().read(true).append(true).create(true), path)?;
    let length = file.metadata().map_err(|error| named(error, "stat", path))?.len();
    let written = if ends_whole(&file, length)? {
        file.write_all(line)
    } else {
        file.write_all(&[b"\n", line].concat())
    };
    if let Err(error) = written {
        let _ = file.set_len(length);
        return Err(named(error, "write to", path));
    }
    if durable { file.sync_all().map_err(|error| named(error, "sync", path)) } else { Ok(()) }
}

/// Whether a file of this length is empty or ends with a line break.
fn ends_whole(file: &File, length: u64) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}

/// A name beside `path` that no other writer uses.
pub fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{count}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// Brings a file's content to the disk.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| named(error, "sync", path))
}

/// Brings a directory's entries to the disk.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    sync_file(path)
}

/// An exclusive lock, released when it goes out of scope or its process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    /// The locked file, open for reading and writing: small state may stand in it.
    pub file: File,
}

/// Takes the exclusive lock on a file (made when missing), waiting at most `patience`; `None` when that is over.
///
/// # Errors
/// When the file is a link or cannot be opened, or locking is not possible there.
pub fn lock(path: &Path, patience: Duration) -> io::Result<Option<Lock>> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let file = open_private(&mut options, path)?;
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(Lock { file })),
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(4));
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(named(error, "lock", path)),
        }
    }
}

/// Reads a regular file whole. Links are not followed, and a pipe or device is refused, not waited for.
///
/// # Errors
/// `InvalidInput` for something that is no regular file, `FileTooLarge` past `most` bytes, else as reading does.
pub fn read_regular(path: &Path, most: u64) -> io::Result<(Vec<u8>, Metadata)> {
    read(path, OFlags::NOFOLLOW, most).map(|read| (read.bytes, read.metadata))
}

/// Reads as [`read_regular`] does, again where the file was written to meanwhile.
///
/// # Errors
/// As [`read_regular`].
pub fn read_steady(path: &Path, most: u64) -> io::Result<Read> {
    for _ in 0..2 {
        let read = read(path, OFlags::NOFOLLOW, most)?;
        if read.steady {
            return Ok(read);
        }
    }
    read(path, OFlags::NOFOLLOW, most)
}

/// What was read of a file.
#[derive(Debug)]
pub struct Read {
    /// The content.
    pub bytes: Vec<u8>,
    /// Size and times as they were before the first byte was read: what comes later has others.
    pub metadata: Metadata,
    /// Whether they were the same after the last byte. Else the content may be a mixture of two states.
    pub steady: bool,
}

/// Reads as [`read_regular`] does, and follows links: for files that the user keeps where they like.
///
/// # Errors
/// As [`read_regular`].
pub fn read_linked(path: &Path, most: u64) -> io::Result<(Vec<u8>, Metadata)> {
    read(path, OFlags::empty(), most).map(|read| (read.bytes, read.metadata))
}

fn read(path: &Path, flags: OFlags, most: u64) -> io::Result<Read> {
    let flags = (flags | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let mut file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|error| named(error, "open", path))?;
    let metadata = file.metadata().map_err(|error| named(error, "stat", path))?;
    if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is no regular file", path.display()),
        ));
    }
    let mut bytes = Vec::with_capacity(metadata.len().min(most) as usize + 1);
    (&mut file).take(most + 1).read_to_end(&mut bytes).map_err(|error| named(error, "read", path))?;
    if bytes.len() as u64 > most {
        let what = format!("{} is larger than {most} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    let after = file.metadata().map_err(|error| named(error, "stat", path))?;
    let steady = Stamp::of(&metadata) == Stamp::of(&after) && bytes.len() as u64 == metadata.len();
    Ok(Read { bytes, metadata, steady })
}

/// What tells two states of a file apart without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since 1970.
    pub modified: i64,
    /// Last change of content or status, nanoseconds since 1970.
    pub changed: i64,
    /// The inode.
    pub inode: u64,
}

impl Stamp {
    /// The stamp of these metadata.
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

/// An error that says what was attempted, and where.
pub fn named(error: io::Error, verb: &str, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {verb} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

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

    #[test]
    fn what_is_written_over_has_no_rest_of_the_former() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/cache.json");
        assert!(!write_over(&path, b"[1,2,3]".to_vec()).unwrap());
        assert!(write_over(&path, b"[4]".to_vec()).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"[4]    ");
        assert!(write_over(&path, b"[1,2,3,4]".to_vec()).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"[1,2,3,4]");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_line_that_was_cut_does_not_spoil_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        append_line(&path, b"one\n", false).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"tw").unwrap();
        append_line(&path, b"three\n", true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntw\nthree\n");
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_longer_than_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = lock(&path, Duration::ZERO).unwrap();
        assert!(held.is_some());
        assert!(lock(&path, Duration::from_millis(5)).unwrap().is_none());
        drop(held);
        // Another test's child may still hold a copy of the handle, until it runs its own program.
        assert!(lock(&path, Duration::from_secs(10)).unwrap().is_some());
    }

    #[test]
    fn links_directories_and_pipes_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link, pipe) = (dir.path().join("real"), dir.path().join("link"), dir.path().join("pipe"));
        std::fs::write(&real, "12345").unwrap();
        symlink(&real, &link).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(read_regular(&real, 5).unwrap().0, b"12345");
        assert_eq!(read_regular(&real, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(read_regular(&link, 99).is_err());
        assert_eq!(read_regular(dir.path(), 99).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(read_regular(&pipe, 99).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
