//! Append-only files with one entry per line.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::read::regular;
use super::{open_private, with_path};

/// A file that is appended to. The caller must hold its lock.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Appender {
    /// Opens a regular file for appending, or creates it; with `is_new`, only creates it.
    ///
    /// # Errors
    /// When it cannot be opened or is not a regular file.
    pub fn open(path: &Path, is_new: bool) -> io::Result<Appender> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).append(true).create(true).create_new(is_new);
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
        let file = open_private(&mut options, path)?;
        let length = regular(&file, path)?.len();
        Ok(Appender { file, path: path.to_owned(), length })
    }

    /// Appends bytes and returns their offset.
    ///
    /// # Errors
    /// When the write fails; the file is unchanged then.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let start = self.length;
        if let Err(error) = self.file.write_all(bytes) {
            let _ = self.file.set_len(start);
            return Err(with_path(error, "write to", &self.path));
        }
        self.length += bytes.len() as u64;
        Ok(start)
    }

    /// Ends an incomplete line that a killed writer left, and returns whether the last line was complete.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn end_line(&mut self) -> io::Result<bool> {
        let whole = ends_whole(&self.file, self.length)?;
        if !whole {
            self.append(b"\n")?;
        }
        Ok(whole)
    }

    /// Continues at the end of the file, which this process may have written to with another descriptor.
    ///
    /// # Errors
    /// When the length cannot be read.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.length = regular(&self.file, &self.path)?.len();
        Ok(())
    }

    /// Syncs the file to the disk.
    ///
    /// # Errors
    /// When the sync fails.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all().map_err(|error| with_path(error, "sync", &self.path))
    }
}

/// Appends one line in a single write and returns whether the previous line was complete. If a killed writer left an
/// incomplete line, that line is ended first. If the line cannot be written completely, the written part is truncated.
/// The caller must hold the file's lock.
///
/// # Errors
/// When the write fails; the file is unchanged then.
pub fn append_line(path: &Path, line: &[u8], durable: bool) -> io::Result<bool> {
    let mut file = Appender::open(path, false)?;
    let whole = ends_whole(&file.file, file.length)?;
    if whole { file.append(line) } else { file.append(&[b"\n", line].concat()) }?;
    if durable {
        file.sync()?;
    }
    Ok(whole)
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

#[cfg(test)]
mod tests {
    use super::super::{lock, overwrite_in_place, sync_file};
    use super::*;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

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
            assert_eq!(overwrite_in_place(path, b"line".to_vec()).is_ok(), path != dir.path());
        }
        assert_eq!(
            (std::fs::read(&link).unwrap(), std::fs::read(&pipe).unwrap()),
            (b"line".to_vec(), b"line".to_vec())
        );
        assert_eq!(std::fs::read(&real).unwrap(), b"");
    }

    #[test]
    fn a_line_that_was_cut_does_not_spoil_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        assert!(append_line(&path, b"one\n", false).unwrap());
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"tw").unwrap();
        assert!(!append_line(&path, b"three\n", true).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntw\nthree\n");
    }
}
