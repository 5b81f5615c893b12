//! The lines of one segment, with any content, in bounded memory.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use rustix::fs::OFlags;

use crate::sys::fs;

/// A longer line is not valid: stdin is bounded, and escaping makes it six times longer at most.
const MAX_LINE_BYTES: u64 = 128 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub offset: u64,
    pub lines: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Raw {
    /// Its bytes; `None` when there are too many.
    pub bytes: Option<Vec<u8>>,
    /// Whether its line break is there.
    pub whole: bool,
}

pub struct Lines {
    from: Box<dyn BufRead + Send>,
    pub position: Position,
}

impl fmt::Debug for Lines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Lines").field("position", &self.position).finish_non_exhaustive()
    }
}

/// Opens a file. Links are not followed, and a pipe is not waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.map_err(|error| fs::with_path(error, "open", path))
}

const CHUNK_BYTES: usize = 64 << 10;

impl Lines {
    pub fn open(path: &Path, position: Position) -> io::Result<Lines> {
        let mut file = open(path)?;
        if position.offset > 0 {
            file.seek(SeekFrom::Start(position.offset))
                .map_err(|error| fs::with_path(error, "read", path))?;
        }
        Ok(Lines { from: Box::new(BufReader::with_capacity(CHUNK_BYTES, file)), position })
    }

    /// Opens a compressed file of lines; positions count uncompressed bytes.
    pub fn open_packed(path: &Path) -> io::Result<Lines> {
        let unpacked = MultiGzDecoder::new(BufReader::with_capacity(CHUNK_BYTES, open(path)?));
        let from = BufReader::with_capacity(CHUNK_BYTES, unpacked);
        Ok(Lines { from: Box::new(from), position: Position::default() })
    }

    pub(super) fn over(bytes: Vec<u8>) -> Lines {
        Lines { from: Box::new(io::Cursor::new(bytes)), position: Position::default() }
    }

    /// The next line; `None` at the end.
    #[allow(
        clippy::should_implement_trait,
        reason = "a line, the end or an error, which an iterator cannot express"
    )]
    pub fn next(&mut self) -> io::Result<Option<Raw>> {
        let mut bytes = Vec::new();
        let mut count = (&mut self.from).take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut bytes)? as u64;
        if count == 0 {
            return Ok(None);
        }
        let mut whole = bytes.pop_if(|last| *last == b'\n').is_some();
        let fits = bytes.len() as u64 <= MAX_LINE_BYTES;
        while !whole && count > MAX_LINE_BYTES {
            bytes.clear();
            let more = (&mut self.from).take(64 * 1024).read_until(b'\n', &mut bytes)?;
            count += more as u64;
            whole = bytes.last() == Some(&b'\n');
            if more == 0 {
                break;
            }
        }
        self.position.offset += count;
        self.position.lines += 1;
        Ok(Some(Raw { bytes: fits.then_some(bytes), whole }))
    }
}

const MAX_KEPT: usize = 5;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadErrors {
    pub count: u64,
    pub first: Vec<ReadError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    pub path: PathBuf,
    /// The line, from 1; `None` for the segment as a whole.
    pub line: Option<u64>,
    pub why: String,
}

impl ReadErrors {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, problem: ReadError) {
        self.count += 1;
        if self.first.len() < MAX_KEPT {
            self.first.push(problem);
        }
    }

    pub fn merge(&mut self, other: ReadErrors) {
        let room = MAX_KEPT.saturating_sub(self.first.len());
        self.count += other.count;
        self.first.extend(other.first.into_iter().take(room));
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => {
                write!(out, "{}:{line}: {}; the line is passed over", self.path.display(), self.why)
            }
            // The cause contains the path.
            None => write!(out, "{}; the segment is passed over: look at its permissions", self.why),
        }
    }
}
