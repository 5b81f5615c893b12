//! Files: how they are opened, listed, read, exchanged and identified.
//!
//! To sync a file, `File::sync_all` is enough: the standard library uses `F_FULLFSYNC` where `fsync` does not reach the disk.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err::os::unix::fs::FileExt;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::process::{Resource, Signal, getrlimit};

use crate::fs::kinds::{EntryKind, FileId, Named, OpenMode};

const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Clears the owner's bits in the umask. With them, this process would create directories that later calls cannot enter.
pub fn set_umask() {
    let mask = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(mask - Mode::RWXU);
}

/// Lets this process create only files that other users cannot access, for a library that sets no mode.
pub fn set_private_umask() {
    rustix::process::umask(Mode::from_raw_mode(0o077));
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail like one to a full disk, instead of killing the process.
pub fn report_size_limit() {
    if getrlimit(Resource::Fsize).current.is_none() {
        return;
    }
    // The flag is never read: with a handler installed, the write returns an error.
    let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default());
}

/// Opens a file. This is the system call itself: musl's `open` makes a second one to set `FD_CLOEXEC`.
pub fn open(path: &Path, mode: OpenMode) -> io::Result<File> {
    let flags = match mode {
        OpenMode::Read => OFlags::NOFOLLOW,
        OpenMode::ReadLinked => OFlags::empty(),
        OpenMode::Create => OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
        OpenMode::Lock => OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CREATE,
        OpenMode::Append => OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CREATE | OFlags::APPEND,
        OpenMode::AppendNew => {
            OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND
        }
        OpenMode::Overwrite => OFlags::NOFOLLOW | OFlags::WRONLY,
    };
    let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = || rustix::fs::open(path, flags, Mode::from_raw_mode(PRIVATE_FILE as _));
    Ok(rustix::io::retry_on_intr(open)?.into())
}

/// The file that is locked instead of this one.
pub fn lock_file_beside(_: &Path) -> Option<PathBuf> {
    None
}

/// Lets the builder create directories that only this user can access.
pub fn make_private_builder(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder.mode(PRIVATE_DIR)
}

/// The names in a directory, in its order. Fewer system calls than [`std::fs::read_dir`] makes with musl.
pub fn names(dir: &Path) -> io::Result<Vec<Named>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::io::retry_on_intr(|| rustix::fs::open(dir, flags, Mode::empty()))?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(opened)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let kind = match entry.file_type() {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Unknown => EntryKind::Unknown,
            _ => EntryKind::Other,
        };
        if !matches!(name, b"." | b"..") {
            names.push(Named { name: OsStr::from_bytes(name).to_owned(), kind });
        }
    }
    Ok(names)
}

/// Reads bytes from an offset on, and returns how many; 0 at the end.
pub fn read_at(file: &fs_err::File, into: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(into, at)
}

/// Fills `into` with the bytes from an offset on.
pub fn read_exact_at(file: &fs_err::File, into: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(into, at)
}

/// Writes bytes at an offset.
pub fn write_all_at(file: &fs_err::File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

/// The path with all links resolved.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// A path as text that is equal for two spellings of the same path, without a look at the disk.
pub fn comparable(path: &Path) -> String {
    path.components().collect::<PathBuf>().to_string_lossy().into_owned()
}

/// Renames a file or a directory, also over a file.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs_err::rename(from, to)
}

/// Appends bytes to a file of this length, which is open for appending.
pub fn append(file: &mut fs_err::File, bytes: &[u8], _: u64) -> io::Result<()> {
    file.write_all(bytes)
}

/// Exchanges the files of two names.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Syncs a file's content, or a directory's entries, to disk. Skips pipes and devices, which hold no data of teamkeep.
pub fn sync(path: &Path) -> io::Result<()> {
    let file = open(path, OpenMode::ReadLinked)?;
    let kind = file.metadata()?;
    if kind.is_file() || kind.is_dir() { file.sync_all() } else { Ok(()) }
}

/// Whether an open file, with this metadata, is still the one at its path.
pub fn is_at(_: &File, metadata: &Metadata, path: &Path) -> bool {
    metadata.nlink() > 0 || path.symlink_metadata().is_ok_and(|there| there.ino() == metadata.ino())
}

/// The identity of the file with this metadata.
pub fn id(_: &Path, metadata: &Metadata) -> FileId {
    FileId { device: metadata.dev(), inode: metadata.ino() }
}

/// The numbers that differ between two states of a file: the times of the last change of its content and of anything, in
/// nanoseconds since 1970, and its inode.
pub fn state(metadata: &Metadata) -> (i64, i64, u64) {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    let modified = nanos(metadata.mtime(), metadata.mtime_nsec());
    (modified, nanos(metadata.ctime(), metadata.ctime_nsec()), metadata.ino())
}

/// Sets the time of a directory to now. A link is not followed.
pub fn renew(dir: &Path) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(rustix::fs::utimensat(CWD, dir, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The bytes that this user can still write to the file system of a path.
pub fn free_space(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// A name or an argument of these bytes, which another program printed.
pub fn os_string(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}
