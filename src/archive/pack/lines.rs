//! Reads lines of the recipe file by their offset. A chain leads back line by line, so one part of the file that was read
//! often has the next lines, too.

use std::io;
use std::path::Path;

use fs_err::File;
use fs_err::os::unix::fs::FileExt;

use crate::fs;

/// How many bytes to read before the beginning of a line, and after it.
const BYTES_BEFORE: u64 = 28 << 10;
const BYTES_AFTER: usize = 4 << 10;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;

/// The file, and the part of it that was read last.
pub(super) struct Lines {
    file: File,
    start: u64,
    part: Vec<u8>,
}

impl Lines {
    /// Opens the recipe file at this path. A compressed one must be decompressed before.
    pub fn open(path: &Path) -> io::Result<Lines> {
        let file = fs::open_regular(path)?;
        Ok(Lines { file, start: 0, part: Vec::new() })
    }

    /// The line that begins at an offset, without its end; `None` if it is incomplete.
    pub fn at(&mut self, place: u64) -> io::Result<Option<&[u8]>> {
        let mut length = BYTES_AFTER;
        loop {
            let is_there = place >= self.start && place < self.start + self.part.len() as u64;
            if is_there {
                let from = (place - self.start) as usize;
                if let Some(end) = self.part[from..].iter().position(|byte| *byte == b'\n') {
                    return Ok(Some(&self.part[from..from + end]));
                }
            }
            if length > MAX_LINE_BYTES || !self.read(place, length)? {
                return Ok(None);
            }
            length *= 8;
        }
    }

    /// Reads a part of the file; returns false if the file ends earlier.
    fn read(&mut self, place: u64, length: usize) -> io::Result<bool> {
        let start = place.saturating_sub(BYTES_BEFORE);
        let size = (place - start) as usize + length;
        self.part.resize(size, 0);
        self.start = start;
        let mut read = 0;
        while read < size {
            match self.file.read_at(&mut self.part[read..], start + read as u64)? {
                0 => break,
                count => read += count,
            }
        }
        self.part.truncate(read);
        let from = (place - start) as usize;
        Ok(self.part.get(from..).is_some_and(|part| part.contains(&b'\n')) || read == size)
    }
}
