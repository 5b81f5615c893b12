//! Files that grow by whole lines.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::read::regular;
use super::{named, open_private};

/// Appends one line in one write. A line that a killed writer left without its end is ended first; what the disk
/// took of a line that does not fit whole is taken back. The caller holds the lock on this file. Says whether the line
/// before was whole.
///
/// # Errors
/// When the disk refuses; the file is as it was then.
pub fn append_line(path: &Path, line: &[u8], durable: bool) -> io::Result<bool> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).append(true).create(true);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let mut file = open_private(&mut options, path)?;
    let length = regular(&file, path)?.len();
    let whole = ends_whole(&file, length)?;
    let written = if whole { file.write_all(line) } else { file.write_all(&[b"\n", line].concat()) };
    if let Err(error) = written {
        let _ = file.set_len(length);
        return Err(named(error, "write to", path));
    }
    if durable {
        file.sync_all().map_err(|error| named(error, "sync", path))?;
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
    use super::super::{lock, sync_file, write_over};
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
            assert_eq!(write_over(path, b"line".to_vec()).is_ok(), path != dir.path());
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
