//! Careful reads: bounded, of regular files alone.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::{Stamp, named};

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

pub(super) fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = (flags | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.map_err(|error| named(error, "open", path))
}

/// The metadata of what was opened, if that is a regular file.
pub(super) fn regular(file: &File, path: &Path) -> io::Result<Metadata> {
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

/// Reads the first `most` bytes of a file, or all of a smaller one; links are followed.
///
/// # Errors
/// `InvalidInput` for something that is no regular file, else as reading does.
pub fn read_beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path, OFlags::empty())?;
    regular(&file, path)?;
    let mut bytes = Vec::new();
    (&mut file).take(most).read_to_end(&mut bytes).map_err(|error| named(error, "read", path))?;
    Ok(bytes)
}

fn read(path: &Path, flags: OFlags, most: u64) -> io::Result<Read> {
    let mut file = open(path, flags)?;
    let metadata = regular(&file, path)?;
    let mut bytes = Vec::new();
    if metadata.len() <= most {
        bytes.reserve(metadata.len() as usize + 1);
        (&mut file).take(most + 1).read_to_end(&mut bytes).map_err(|error| named(error, "read", path))?;
    }
    if metadata.len().max(bytes.len() as u64) > most {
        let what = format!("{} is larger than {most} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    let after = file.metadata().map_err(|error| named(error, "stat", path))?;
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
