//! The lines of one segment, with any content, in bounded memory.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::{fmt, mem};

use flate2::read::MultiGzDecoder;
use fs_err::File;

use teamkeep_system::fs;

/// A longer line is not valid: stdin is bounded, and escaping makes it six times longer at most.
pub const MAX_LINE_BYTES: u64 = 128 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub offset: u64,
    pub lines: u64,
}

#[derive(Debug)]
pub struct Raw {
    /// Its bytes; `None` when there are too many.
    pub bytes: Option<Vec<u8>>,
    /// Whether its line break is there.
    pub whole: bool,
    /// In bytes, with the line break.
    pub size: u64,
}

pub struct Lines {
    from: Box<dyn BufRead + Send>,
    pub position: Position,
    /// Memory for the next line.
    pub spare: Vec<u8>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Lines").field("position", &self.position).finish_non_exhaustive()
    }
}

const CHUNK_BYTES: usize = 64 << 10;

impl Lines {
    pub fn open(path: &Path, position: Position) -> io::Result<Lines> {
        Lines::of_file(fs::open_regular(path)?, position)
    }

    pub(super) fn of_file(mut file: File, position: Position) -> io::Result<Lines> {
        if position.offset > 0 {
            file.seek(SeekFrom::Start(position.offset))?;
        }
        Ok(Lines::from(BufReader::with_capacity(CHUNK_BYTES, file), position))
    }

    /// Opens a compressed file of lines; positions count uncompressed bytes.
    pub fn open_packed(path: &Path, position: Position) -> io::Result<Lines> {
        let unpacked = MultiGzDecoder::new(BufReader::with_capacity(CHUNK_BYTES, fs::open_regular(path)?));
        let mut from = BufReader::with_capacity(CHUNK_BYTES, unpacked);
        io::copy(&mut (&mut from).take(position.offset), &mut io::sink())?;
        Ok(Lines::from(from, position))
    }

    fn from(from: impl BufRead + Send + 'static, position: Position) -> Lines {
        Lines { from: Box::new(from), position, spare: Vec::new() }
    }

    /// The next bytes, at most so many, without reading them.
    pub(super) fn peek(&mut self, most: usize) -> Option<Vec<u8>> {
        let next = self.from.fill_buf().ok()?;
        Some(next[..next.len().min(most)].to_vec())
    }

    fn read(&mut self) -> io::Result<Raw> {
        let mut bytes = mem::take(&mut self.spare);
        bytes.clear();
        let mut size = (&mut self.from).take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut bytes)? as u64;
        let mut whole = bytes.pop_if(|last| *last == b'\n').is_some();
        let fits = bytes.len() as u64 <= MAX_LINE_BYTES;
        if !whole && !fits {
            size += self.from.skip_until(b'\n')? as u64;
            whole = true;
        }
        self.position.offset += size;
        self.position.lines += u64::from(size > 0);
        Ok(Raw { bytes: fits.then_some(bytes), whole, size })
    }
}

impl Iterator for Lines {
    type Item = io::Result<Raw>;

    fn next(&mut self) -> Option<io::Result<Raw>> {
        Some(self.read()).filter(|read| read.as_ref().map_or(true, |raw| raw.size > 0))
    }
}
