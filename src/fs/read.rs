//! Bounded reads of regular files.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::{Stamp, with_path};

/// Reads a regular file. Does not follow links, and does not block on pipes or devices.
///
/// # Errors
/// `InvalidInput` if the path is not a regular file, `FileTooLarge` above `most` bytes, or the error of the read.
pub fn read_regular(path: &Path, most: u64) -> io::Result<(Vec<u8>, Metadata)> {
    read(path, OFlags::NOFOLLOW, most).map(|read| (read.bytes, read.metadata))
}

/// Reads like [`read_regular`], and retries if the file changed during the read.
///
/// # Errors
/// See [`read_regular`].
pub fn read_stable(path: &Path, most: u64) -> io::Result<Read> {
    for _ in 0..2 {
        let read = read(path, OFlags::NOFOLLOW, most)?;
        if read.steady {
            return Ok(read);
        }
    }
    read(path, OFlags::NOFOLLOW, most)
}

/// Opens a regular file for reading, without following links or blocking on pipes.
///
/// # Errors
/// `InvalidInput` if the path is not a regular file, or the error of the open.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = open(path, OFlags::NOFOLLOW)?;
    regular(&file, path).map(|_| file)
}

pub(super) fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = (flags | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.map_err(|error| with_path(error, "open", path))
}

/// Returns the metadata of an open file if it is a regular file.
pub(super) fn regular(file: &File, path: &Path) -> io::Result<Metadata> {
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(metadata),
        Ok(_) => {
            let what = format!("{} is not a regular file", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        Err(error) => Err(with_path(error, "stat", path)),
    }
}

/// The result of a read.
#[derive(Debug)]
pub struct Read {
    /// The content.
    pub bytes: Vec<u8>,
    /// Size and times from before the first byte was read. A later change gives different ones.
    pub metadata: Metadata,
    /// Whether size and times were unchanged after the last byte. If not, the content may mix two states.
    pub steady: bool,
}

/// Reads like [`read_regular`], but follows links: for files whose location the user chooses.
///
/// # Errors
/// See [`read_regular`].
pub fn read_linked(path: &Path, most: u64) -> io::Result<(Vec<u8>, Metadata)> {
    read(path, OFlags::empty(), most).map(|read| (read.bytes, read.metadata))
}

/// Reads the first `most` bytes of a file, or all of a smaller one. Follows links.
///
/// # Errors
/// `InvalidInput` if the path is not a regular file, or the error of the read.
pub fn read_prefix(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path, OFlags::empty())?;
    regular(&file, path)?;
    let mut bytes = Vec::new();
    (&mut file).take(most).read_to_end(&mut bytes).map_err(|error| with_path(error, "read", path))?;
    Ok(bytes)
}

fn read(path: &Path, flags: OFlags, most: u64) -> io::Result<Read> {
    let mut file = open(path, flags)?;
    let metadata = regular(&file, path)?;
    let mut bytes = Vec::new();
    if metadata.len() <= most {
        bytes.reserve(metadata.len() as usize + 1);
        (&mut file).take(most + 1).read_to_end(&mut bytes).map_err(|error| with_path(error, "read", path))?;
    }
    if metadata.len().max(bytes.len() as u64) > most {
        let what = format!("{} is larger than {most} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    let after = file.metadata().map_err(|error| with_path(error, "stat", path))?;
    let steady = Stamp::of(&metadata) == Stamp::of(&after) && bytes.len() as u64 == metadata.len();
    Ok(Read { bytes, metadata, steady })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
