//! The disk's primitives: private directories, atomic writes, bounded locks, careful reads.

use std::fs::{File, Metadata, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// Mode of every file that we make.
pub const PRIVATE_FILE: u32 = 0o600;
/// Mode of every directory that we make.
pub const PRIVATE_DIR: u32 = 0o700;

/// Has a write past the user's limit of file sizes (`ulimit -f`) fail as on a full disk: by default the process is
/// killed, and nobody is told why.
pub fn outlive_limits() {
    // The handler does nothing that matters: it is there so that the write returns.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
}

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
    let (temporary, mut file) = create_beside(path)?;
    let written = file
        .write_all(bytes)
        .map_err(|error| named(error, "write", &temporary))
        .and_then(|()| match durable {
            true => file.sync_all().map_err(|error| named(error, "sync", &temporary)),
            false => Ok(()),
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

/// Removes the temporary files below a directory that nobody has written to for so long: their writers were killed.
/// Links are not followed, and what cannot be looked at is left.
pub fn sweep(dir: &Path, age: Duration) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
        let old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|time| time.elapsed().is_ok_and(|since| since > age))
        };
        if kind.is_dir() {
            sweep(&entry.path(), age);
        } else if kind.is_file() && is_temporary(&name) && old() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether [`beside`] gives such names.
fn is_temporary(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(".tmp"))
}

/// Writes over a file in place, for what can be made again: on ext4 a rename over a file makes its blocks be written
/// out at once, and leaves an inode that every new file has to be kept away from for five seconds. A reader may meet
/// a half-written state. What was longer before is filled up with spaces; a link or a pipe in its place makes way.
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
        Err(_) if is_obstructed(path) => return write_atomic(path, &bytes, false).map(|()| true),
        Err(error) => return Err(named(error, "open", path)),
    };
    let length = regular(&file, path)?.len();
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
    let mut options = std::fs::OpenOptions::new();
    options.read(true).append(true).create(true);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let mut file = open_private(&mut options, path)?;
    let length = regular(&file, path)?.len();
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
    // In a container every process may have the same id, and those that were killed leave their files.
    let random = RandomState::new().hash_one((std::process::id(), count));
    name.push(format!(".{random:016x}.tmp"));
    path.with_file_name(name)
}

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
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let file = open_private(&mut options, path)?;
    regular(&file, path)?;
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

/// Whether something that is no regular file stands at this path: nobody can hold a lock there.
pub fn is_obstructed(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file())
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

/// Opens a regular file for reading, as carefully as [`read_regular`].
///
/// # Errors
/// `InvalidInput` for something that is no regular file, else as opening does.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = open(path, OFlags::NOFOLLOW)?;
    regular(&file, path).map(|_| file)
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = (flags | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.map_err(|error| named(error, "open", path))
}

/// The metadata of what was opened, if that is a regular file.
fn regular(file: &File, path: &Path) -> io::Result<Metadata> {
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(metadata),
        Ok(_) => {
            let what = format!("{} is no regular file", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        Err(error) => Err(named(error, "stat", path)),
    }
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
    let mut file = open(path, flags)?;
    let metadata = regular(&file, path)?;
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
    fn what_a_killed_writer_left_is_swept_when_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let left = beside(&dir.path().join("a/state.json"));
        assert_ne!(left, beside(&dir.path().join("a/state.json")));
        let mine = dir.path().join("a/mine.tmp");
        write_atomic(&left, b"", false).unwrap();
        write_atomic(&mine, b"", false).unwrap();
        sweep(dir.path(), Duration::from_secs(3_600));
        assert!(left.exists());
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1);
        File::open(&left).unwrap().set_modified(old).unwrap();
        File::open(&mine).unwrap().set_modified(old).unwrap();
        sweep(dir.path(), Duration::from_secs(3_600));
        assert!(!left.exists() && mine.exists());
    }

    #[test]
    fn a_line_is_written_through_no_link_and_into_no_pipe() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link, pipe) = (dir.path().join("real"), dir.path().join("link"), dir.path().join("pipe"));
        std::fs::write(&real, "").unwrap();
        symlink(&real, &link).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for path in [&link, &pipe, &dir.path().to_path_buf()] {
            assert!(sync_file(path).is_ok(), "nothing of ours is in a pipe, and nothing is waited for");
            assert!(append_line(path, b"line\n", false).is_err());
            assert!(lock(path, Duration::ZERO).is_err());
            assert_eq!(write_over(path, b"line".to_vec()).is_ok(), path != dir.path());
        }
        assert_eq!(
            (std::fs::read(&link).unwrap(), std::fs::read(&pipe).unwrap()),
            (b"line".to_vec(), b"line".to_vec())
        );
        assert_eq!(std::fs::read(&real).unwrap(), b"");
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
