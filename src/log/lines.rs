//! The lines of one segment, with any content, in bounded memory.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use rustix::fs::OFlags;

use crate::fs;

/// A longer line is not valid: stdin is bounded, and escaping makes it six times longer at most.
const MAX_LINE_BYTES: u64 = 128 << 20;

/// A place in a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// The byte.
    pub offset: u64,
    /// How many lines are before it.
    pub lines: u64,
}

/// One line, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub struct Raw {
    /// Its bytes; `None` when there are too many.
    pub bytes: Option<Vec<u8>>,
    /// Whether its line break is there.
    pub whole: bool,
}

/// Reads lines from a place on.
pub struct Lines {
    from: Box<dyn BufRead + Send>,
    /// Where the next line begins.
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

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

impl Lines {
    /// Opens a segment, or a file like one. Links are not followed.
    ///
    /// # Errors
    /// As opening does.
    pub fn open(path: &Path, position: Position) -> io::Result<Lines> {
        let mut file = open(path)?;
        if position.offset > 0 {
            file.seek(SeekFrom::Start(position.offset))
                .map_err(|error| fs::with_path(error, "read", path))?;
        }
        Ok(Lines { from: Box::new(BufReader::with_capacity(CHUNK_BYTES, file)), position })
    }

    /// Opens a compressed file of lines; positions count what it holds uncompressed. Links are not followed.
    ///
    /// # Errors
    /// As opening does.
    pub fn open_packed(path: &Path) -> io::Result<Lines> {
        let unpacked = MultiGzDecoder::new(BufReader::with_capacity(CHUNK_BYTES, open(path)?));
        let from = BufReader::with_capacity(CHUNK_BYTES, unpacked);
        Ok(Lines { from: Box::new(from), position: Position::default() })
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// As reading does.
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
