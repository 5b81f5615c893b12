//! Append-only files, mostly with one entry per line.

use std::io::{self, Write};
use std::path::Path;

use fs_err::os::unix::fs::FileExt;
use fs_err::{File, OpenOptions};

use super::open_private;
use super::read::regular;

/// A file that is appended to. The caller must hold its lock.
#[derive(Debug)]
pub struct Appender {
    file: File,
    length: u64,
}

impl Appender {
    /// Opens a regular file, or creates it.
    pub fn open(path: &Path) -> io::Result<Appender> {
        Appender::with(OpenOptions::new().create(true), path)
    }

    /// Creates a file that must not exist.
    pub fn create(path: &Path) -> io::Result<Appender> {
        Appender::with(OpenOptions::new().create_new(true), path)
    }

    fn with(options: &mut OpenOptions, path: &Path) -> io::Result<Appender> {
        let file = open_private(options.read(true).append(true), path)?;
        let length = regular(&file)?.len();
        Ok(Appender { file, length })
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends bytes and returns their offset. After an error, the file is unchanged.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let start = self.length;
        // One write, unless the disk takes only a part; the second write then returns the error.
        self.file.write_all(bytes).inspect_err(|_| drop(self.file.set_len(start)))?;
        self.length += bytes.len() as u64;
        Ok(start)
    }

    /// Appends a line with its line break and returns its offset. If a killed writer left an incomplete line, that line
    /// is ended in the same write. After an error, the file is unchanged.
    pub fn append_line(&mut self, line: &[u8]) -> io::Result<u64> {
        match self.is_torn()? {
            true => self.append(&[b"\n", line].concat()).map(|start| start + 1),
            false => self.append(line),
        }
    }

    /// Whether the last line has no line break, because its writer was killed.
    pub fn is_torn(&self) -> io::Result<bool> {
        let mut last = [b'\n'];
        if self.length > 0 {
            self.file.read_exact_at(&mut last, self.length - 1)?;
        }
        Ok(last != [b'\n'])
    }

    /// Continues at the end of the file, which this process may have written to with another descriptor.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.length = regular(&self.file)?.len();
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{lock, overwrite_in_place, sync};
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
            assert!(sync(path).is_ok(), "a pipe holds no data of teamkeep, and is not waited for");
            assert!(Appender::open(path).is_err());
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
    fn an_incomplete_line_is_ended_before_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let open = || Appender::open(&path).unwrap();
        assert_eq!((open().is_torn().unwrap(), open().append_line(b"one\n").unwrap()), (false, 0));
        open().append(b"tw").unwrap();
        assert_eq!((open().is_torn().unwrap(), open().append_line(b"three\n").unwrap()), (true, 7));
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntw\nthree\n");
        assert!(Appender::create(&path).is_err());
    }
}
