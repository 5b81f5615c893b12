//! Bounded reads of regular files, and stamps that show a change without a read.

use std::fs::Metadata;
use std::io;
use std::path::Path;

use fs_err::File;

use super::kinds::OpenMode;
use super::{open, with_text};
use crate::os;

/// The size, times and inode of a file: they differ between two states of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub size: u64,
    /// Last change of the content (mtime), in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of content or inode (ctime), in nanoseconds since 1970.
    pub changed: i64,
    pub inode: u64,
}

impl Stamp {
    /// Resolution of the kernel's clock for files, in nanoseconds. A file that changed less than this before it was read may
    /// change again without a new stamp.
    pub const GRANULARITY: i64 = 50_000_000;

    pub fn of(metadata: &Metadata) -> Stamp {
        let (modified, changed, inode) = os::files::state(metadata);
        Stamp { size: metadata.len(), modified, changed, inode }
    }
}

#[derive(Debug)]
pub struct Read {
    pub bytes: Vec<u8>,
    /// From before the first byte was read. A later change gives another stamp.
    pub metadata: Metadata,
    /// Whether size and times were unchanged after the last byte. If not, the content may mix two states.
    pub steady: bool,
}

/// Reads a regular file; others are `InvalidInput`, and one above `most` bytes `FileTooLarge`. Does not follow links, and does
/// not block on pipes or devices.
pub fn read_regular(path: &Path, most: u64) -> io::Result<(Vec<u8>, Metadata)> {
    read_open(open(path, OpenMode::Read)?, most).map(|(bytes, metadata, _)| (bytes, metadata))
}

/// Reads like [`read_regular`], and up to twice again if the file changed during the read.
pub fn read_stable(path: &Path, most: u64) -> io::Result<Read> {
    let mut attempts = 0;
    loop {
        let (bytes, metadata, file) = read_open(open(path, OpenMode::Read)?, most)?;
        let is_same = Stamp::of(&metadata) == Stamp::of(&file.metadata()?);
        let steady = is_same && bytes.len() as u64 == metadata.len();
        attempts += 1;
        if steady || attempts == 3 {
            return Ok(Read { bytes, metadata, steady });
        }
    }
}

/// Reads like [`read_regular`], but follows links: for files whose location the user chooses.
pub fn read_linked(path: &Path, most: u64) -> io::Result<(Vec<u8>, Metadata)> {
    read_open(open(path, OpenMode::ReadLinked)?, most).map(|(bytes, metadata, _)| (bytes, metadata))
}

/// Reads like [`read_linked`] a file with a secret: an error if other users have access to it.
pub fn read_private(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (bytes, metadata) = read_linked(path, most)?;
    match os::access::open_mode(&metadata) {
        None => Ok(bytes),
        Some(mode) => {
            let what = format!("other users have access to {} (mode {mode:o})", path.display());
            Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
        }
    }
}

/// Reads `most` bytes from an offset on; less at the end of the file.
pub fn read_at_most(file: &File, most: usize, start: u64) -> io::Result<Vec<u8>> {
    let (mut bytes, mut count) = (vec![0; most], 0);
    while count < most {
        match os::files::read_at(file, &mut bytes[count..], start + count as u64) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(count);
    Ok(bytes)
}

/// Opens a regular file for reading, without following links or blocking on pipes.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = open(path, OpenMode::Read)?;
    regular(&file).map(|_| file)
}

/// Syncs a file's content, or a directory's entries, to disk. Skips what holds no data of teamkeep.
pub fn sync(path: &Path) -> io::Result<()> {
    os::files::sync(path).map_err(|error| with_text(error, "failed to sync", path))
}

pub(super) fn regular(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return Ok(metadata);
    }
    let what = format!("{} is not a regular file", file.path().display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Reads all of an open file, also what it has gained since its size was read: 2.1.47 empties a file before it writes it. The
/// metadata is from before the first byte.
fn read_open(file: File, most: u64) -> io::Result<(Vec<u8>, Metadata, File)> {
    let metadata = regular(&file)?;
    let length = metadata.len() as usize;
    let (mut bytes, mut count) = (Vec::new(), 0);
    if metadata.len() <= most {
        // With room for one byte more, a read of just this length shows the end.
        bytes.resize(length + 1, 0);
        loop {
            match os::files::read_at(&file, &mut bytes[count..], count as u64) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if count == length || count as u64 > most {
                break;
            }
            if count == bytes.len() {
                bytes.resize((2 * count).min(most as usize + 1), 0);
            }
        }
        bytes.truncate(count);
    }
    if metadata.len().max(count as u64) > most {
        let what = format!("{} is larger than {most} bytes", file.path().display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok((bytes, metadata, file))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::super::JsonFile;
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_secret_that_others_can_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, link) = (dir.path().join("secret"), dir.path().join("link"));
        std::fs::write(&secret, "key").unwrap();
        symlink(&secret, &link).unwrap();
        for (mode, is_private) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&secret, mode).unwrap();
            assert_eq!(read_private(&link, 9).is_ok(), is_private);
        }
        assert!(read_private(dir.path(), 9).is_err());
    }

    /// What can be in the place of a file, and whether [`read_linked`] reads it.
    fn odd_files(dir: &Path) -> Vec<(&'static str, bool)> {
        let at = |name: &str| dir.join(name);
        std::fs::write(at("real"), "12345").unwrap();
        symlink("real", at("link")).unwrap();
        symlink("nowhere", at("broken link")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).unwrap();
        drop(std::os::unix::net::UnixListener::bind(at("socket")).unwrap());
        let names = ["broken link", "loop", "device", "directory", "pipe", "socket", "missing", "real/x"];
        names.map(|name| (name, false)).into_iter().chain([("link", true)]).collect()
    }

    #[test]
    fn only_a_regular_file_is_read_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        for (name, is_linked) in odd_files(dir.path()) {
            let path = dir.path().join(name);
            assert!(read_regular(&path, 99).is_err() && read_stable(&path, 99).is_err(), "{name}");
            assert!(open_regular(&path).is_err(), "{name}");
            let document = JsonFile::<serde_json::Value>::at(&path).read();
            assert!(matches!(document, Err(_) | Ok(Ok(None))), "{name}: {document:?}");
            assert_eq!(read_linked(&path, 99).is_ok(), is_linked, "{name}");
        }
        for name in ["directory", "pipe"] {
            let error = read_regular(&dir.path().join(name), 99).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().ends_with(&format!("{name} is not a regular file")), "{error}");
        }
        let real = dir.path().join("real");
        for read in [read_regular, read_linked] {
            assert_eq!(read(&real, 5).unwrap().0, b"12345");
            assert_eq!(read(&real, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        }
    }
}
