//! Files: how they are opened, listed, read, exchanged and identified.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use fs_err::os::windows::fs::FileExt;
use winapi_util::file::information;

use teamkeep_model::paths;

use crate::clock;
use crate::fs::kinds::{EntryKind, FileId, Named, OpenMode};

/// Open a link instead of the file behind it.
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// Open directories, too.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;
const WRITE_ATTRIBUTES: u32 = 0x100;
const ACCESS_DENIED: i32 = 5;
const SHARING_VIOLATION: i32 = 32;
const RENAME_TIMEOUT: Duration = Duration::from_millis(500);
const RENAME_PAUSE: Duration = Duration::from_millis(1);
/// The maximum length of a path without a prefix.
const MAX_PATH: usize = 260;
/// From 1601 to 1970, in units of 100 ns.
const EPOCH: i64 = 116_444_736_000_000_000;

/// Windows has no umask: new files are as accessible as their directory, and only the user can access those of a profile.
pub fn set_umask() {}

pub fn set_private_umask() {}

/// Windows does not limit the size of files.
pub fn report_size_limit() {}

/// Opens a file.
pub fn open(path: &Path, mode: OpenMode) -> io::Result<File> {
    let mut options = OpenOptions::new();
    match mode {
        OpenMode::Read | OpenMode::ReadLinked => options.read(true),
        OpenMode::Create => options.write(true).create_new(true),
        OpenMode::Lock => options.read(true).write(true).create(true).truncate(false),
        // Not in the mode for appending, which cannot shorten a file.
        OpenMode::Append => options.read(true).write(true).create(true).truncate(false),
        OpenMode::AppendNew => options.read(true).write(true).create_new(true),
        OpenMode::Overwrite => options.write(true),
    };
    let links = if mode == OpenMode::ReadLinked { 0 } else { OPEN_REPARSE_POINT };
    let directories =
        if matches!(mode, OpenMode::Read | OpenMode::ReadLinked) { BACKUP_SEMANTICS } else { 0 };
    options.custom_flags(links | directories).open(path)
}

/// The file that is locked instead of this one: other processes cannot read a file that is locked.
pub fn lock_file_beside(path: &Path) -> Option<PathBuf> {
    let mut name = path.file_name()?.to_owned();
    name.push(".mutex");
    Some(path.with_file_name(name))
}

/// New directories are as accessible as the one with them.
pub fn make_private_builder(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}

/// The names in a directory, in its order.
pub fn names(dir: &Path) -> io::Result<Vec<Named>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_file() => EntryKind::File,
            Ok(kind) if kind.is_dir() => EntryKind::Directory,
            Ok(_) => EntryKind::Other,
            Err(_) => EntryKind::Unknown,
        };
        names.push(Named { name: entry.file_name(), kind });
    }
    Ok(names)
}

/// Reads bytes from an offset on, and returns how many; 0 at the end.
pub fn read_at(file: &fs_err::File, into: &mut [u8], at: u64) -> io::Result<usize> {
    file.seek_read(into, at)
}

/// Fills `into` with the bytes from an offset on.
pub fn read_exact_at(file: &fs_err::File, into: &mut [u8], at: u64) -> io::Result<()> {
    let mut count = 0;
    while count < into.len() {
        match file.seek_read(&mut into[count..], at + count as u64)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            more => count += more,
        }
    }
    Ok(())
}

/// Writes bytes at an offset.
pub fn write_all_at(file: &fs_err::File, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut count = 0;
    while count < bytes.len() {
        match file.seek_write(&bytes[count..], at + count as u64)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            more => count += more,
        }
    }
    Ok(())
}

/// The path with all links resolved. Without the prefix `\\?\`, which few programs accept, if it is the same path without it.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    Ok(without_prefix(&path).unwrap_or(path))
}

/// A path as text that is equal for two spellings of the same path, without a look at the disk: with slashes, in lower case, and with
/// the drive of a path of Git Bash.
pub fn comparable(path: &Path) -> String {
    let path = path.components().collect::<PathBuf>().to_string_lossy().replace('\\', "/");
    paths::of_git_bash(&path).unwrap_or(path).to_lowercase()
}

fn without_prefix(path: &Path) -> Option<PathBuf> {
    let rest = path.to_str()?.strip_prefix(r"\\?\")?;
    let rest = rest.strip_prefix(r"UNC\").map_or_else(|| rest.to_owned(), |share| format!(r"\\{share}"));
    // Without the prefix, a path has a limit, and some names have a meaning or lose their end.
    let is_same =
        rest.len() < MAX_PATH && std::path::absolute(&rest).is_ok_and(|path| path.as_os_str() == &*rest);
    is_same.then(|| rest.into())
}

/// Renames a file or a directory, also over a file. Waits while a program that does not allow it has one of them open.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match std::fs::rename(from, to) {
            Ok(()) => return Ok(()),
            Err(error) if is_in_use(&error) && start.elapsed() < RENAME_TIMEOUT => {
                thread::sleep(RENAME_PAUSE)
            }
            // With the paths in its error.
            Err(_) => return fs_err::rename(from, to),
        }
    }
}

fn is_in_use(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION))
}

/// Appends bytes to a file of this length, which is open for appending.
pub fn append(file: &mut fs_err::File, bytes: &[u8], length: u64) -> io::Result<()> {
    write_all_at(file, bytes, length)
}

/// Names cannot be exchanged.
pub fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Syncs a file's content to disk. A directory cannot be synced: the file system has a journal.
pub fn sync(path: &Path) -> io::Result<()> {
    if path.metadata()?.is_file() { OpenOptions::new().write(true).open(path)?.sync_all() } else { Ok(()) }
}

/// Whether an open file, with this metadata, is still the one at its path.
pub fn is_at(file: &File, _: &Metadata, path: &Path) -> bool {
    id_of(file).is_some_and(|id| open(path, OpenMode::Read).is_ok_and(|there| id_of(&there) == Some(id)))
}

/// The identity of the file at a path, which has this metadata.
pub fn id(path: &Path, _: &Metadata) -> FileId {
    let id = open(path, OpenMode::Read).ok().and_then(|file| id_of(&file));
    id.unwrap_or(FileId { device: 0, inode: 0 })
}

fn id_of(file: &File) -> Option<FileId> {
    let found = information(file).ok()?;
    Some(FileId { device: found.volume_serial_number(), inode: found.file_index() })
}

/// The numbers that differ between two states of a file: the times of the last change of its content and of anything, in
/// nanoseconds since 1970, and the time of its creation.
pub fn state(metadata: &Metadata) -> (i64, i64, u64) {
    let nanos = |time: u64| i64::try_from(time).unwrap_or(i64::MAX).saturating_sub(EPOCH).saturating_mul(100);
    let (modified, created) = (nanos(metadata.last_write_time()), nanos(metadata.creation_time()));
    (modified, modified.max(created), metadata.creation_time())
}

/// Sets the time of a directory to now. A link is not followed.
pub fn renew(dir: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.access_mode(WRITE_ATTRIBUTES).custom_flags(OPEN_REPARSE_POINT | BACKUP_SEMANTICS);
    options.open(dir)?.set_modified(UNIX_EPOCH + Duration::from_nanos(clock::file_time().unsigned_abs()))
}

/// The bytes that this user can still write to the file system of a path.
pub fn free_space(path: &Path) -> io::Result<u64> {
    let mut free = 0;
    winsafe::GetDiskFreeSpaceEx(path.to_str(), Some(&mut free), None, None)
        .map_err(|error| io::Error::from_raw_os_error(error.raw() as i32))?;
    Ok(free)
}

/// A name or an argument of these bytes, which another program printed.
pub fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}
