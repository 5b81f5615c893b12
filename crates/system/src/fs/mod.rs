//! File system primitives: private files, atomic replacement, appending, locks with a time limit, bounded reads.
//!
//! Errors name the operation and the path: plain operations use `fs_err`, those on directory handles [`with_path`].

mod json_file;
pub(crate) mod kinds;
mod lock;
mod read;
mod replace;

use std::io;
use std::path::{Component, Path, PathBuf};

use fs_err::File;

use crate::os;

pub use json_file::{Content, Damage, JsonDocument, JsonFile, MAX_JSON_BYTES, json_lines};
pub use kinds::{EntryKind, FileId, Named, OpenMode};
pub use lock::{Lock, LockBudget, held_error, is_blocked_by_other_file, is_locked, lock};
pub use read::{
    Read, Stamp, open_regular, read_at_most, read_linked, read_private, read_regular, read_stable, sync,
};
pub use replace::{
    Appender, Draft, exchange, is_draft, remove_old_drafts, remove_old_drafts_of, temporary_path,
    write_atomic, write_synced,
};

/// The mode of a private file, where files have modes.
pub const PRIVATE_FILE: u32 = 0o600;
/// Maximum size of a file with a secret in bytes.
pub const MAX_SECRET_BYTES: u64 = 64 << 10;
/// Maximum size of a file of Claude Code's settings or state in bytes.
pub const MAX_SETTINGS_BYTES: u64 = 16 << 20;

/// Creates a directory and its parents with mode 0700. An existing directory is not an error.
pub fn private_dir(path: &Path) -> io::Result<()> {
    create_dir(std::fs::DirBuilder::new().recursive(true), path)
}

/// Creates one new directory with mode 0700.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    create_dir(&mut std::fs::DirBuilder::new(), path)
}

fn create_dir(builder: &mut std::fs::DirBuilder, path: &Path) -> io::Result<()> {
    let created = os::files::make_private_builder(builder).create(path);
    created.map_err(|error| with_path(error, "create the directory", path))
}

/// Opens a file.
pub fn open(path: &Path, mode: OpenMode) -> io::Result<File> {
    match os::files::open(path, mode) {
        Ok(file) => Ok(File::from_parts(file, path)),
        Err(error) => Err(with_text(error, "failed to open file", path)),
    }
}

/// Opens a file in a directory that is created if missing.
fn open_private(path: &Path, mode: OpenMode) -> io::Result<File> {
    match open(path, mode) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), private_dir)?;
            open(path, mode)
        }
        opened => opened,
    }
}

/// Creates a new file with mode 0600, and its parent directory if that is missing.
pub fn create_private(path: &Path) -> io::Result<File> {
    open_private(path, OpenMode::Create)
}

/// The names in a directory, in its order.
pub fn names(dir: &Path) -> io::Result<Vec<Named>> {
    os::files::names(dir).map_err(|error| with_text(error, "failed to read directory", dir))
}

/// Syncs the files of a directory whose names are wanted to the disk. Links and special files are left out.
pub fn sync_files(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in list(dir)? {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && entry.file_name().to_str().is_some_and(&is_wanted) {
            allow_missing(sync(&entry.path()))?;
        }
    }
    Ok(())
}

/// A directory's entries; none if it does not exist.
pub fn list(dir: &Path) -> io::Result<Vec<fs_err::DirEntry>> {
    if_exists(fs_err::read_dir(dir))?.into_iter().flatten().collect()
}

/// A directory's entries without those that cannot be read; none if it cannot be listed.
pub fn entries(dir: &Path) -> impl Iterator<Item = std::fs::DirEntry> + use<> {
    std::fs::read_dir(dir).into_iter().flatten().flatten()
}

/// Turns the error of a missing file into `None`.
pub fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Turns the error of a missing file into success.
pub fn allow_missing(result: io::Result<()>) -> io::Result<()> {
    if_exists(result).map(drop)
}

/// Whether the path is a link to something that does not exist.
pub fn is_broken_link(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

/// The path with all links resolved, as users write it.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    os::files::canonicalize(path.as_ref())
}

/// Whether two paths lead to the same file or directory. Makes system calls only if they are spelled differently.
pub fn is_same_path(one: &Path, other: &Path) -> bool {
    let is_linked = || Some(canonicalize(one).ok()? == canonicalize(other).ok()?);
    one == other || is_linked().unwrap_or(false)
}

/// The path with all links resolved as far as it exists; the rest is only made plain.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    let plain = plain(path);
    let existing = plain.ancestors().find_map(|start| Some((start, canonicalize(start).ok()?)));
    let (start, resolved) = existing?;
    let rest = plain.strip_prefix(start).ok()?;
    // `join` would end an empty rest with a slash.
    Some(if rest.as_os_str().is_empty() { resolved } else { resolved.join(rest) })
}

/// The path without `.` and `..`. Links are not resolved.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// An error with its operation and path. The text is made only if somebody reads it: most errors are those of files that do not exist.
#[derive(Debug, thiserror::Error)]
#[error("{what} `{}`: {source}", .path.display())]
struct PathError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// An error in the words of `fs_err`.
fn with_text(source: io::Error, what: &'static str, path: &Path) -> io::Error {
    io::Error::new(source.kind(), PathError { what, path: path.to_owned(), source })
}

pub fn with_path(error: io::Error, verb: &str, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {verb} {}: {error}", path.display()))
}
