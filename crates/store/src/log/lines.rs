//! The lines of one segment, with any content, in bounded memory; one of them parsed; and the last ones of a log.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::str::{self, Utf8Error};
use std::{fmt, mem};

use flate2::read::MultiGzDecoder;
use fs_err::File;

use super::EventLog;
use teamkeep_model::event::Recorded;
use teamkeep_system::fs;

/// A longer line is not valid: stdin is bounded, and escaping makes it six times longer at most.
const MAX_LINE_BYTES: u64 = 128 << 20;

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

// One line of a log, parsed, and the last lines of a log.

/// The format of the lines.
pub const VERSION: u8 = 1;

#[derive(Debug, Clone)]
pub struct Line {
    pub recorded: Recorded,
    pub text: String,
}

/// The result of a line: `None` if it is blank or not wanted.
pub type Parsed = Result<Option<Line>, LineError>;

#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("{0}")]
    Damaged(String),
    #[error("too long for a line of the log")]
    TooLong,
    /// Its writer was killed.
    #[error("{CUT_OFF}")]
    CutOff,
    #[error("format version {0}: a newer teamkeep wrote it, and is needed to read it")]
    NewerVersion(u8),
}

/// The problem of a line that ends too early.
pub const CUT_OFF: &str = "cut off: its writer was probably killed";

/// Parses one line; `None` for a blank one. The bytes are `None` if there are too many.
pub fn parse(bytes: Option<Vec<u8>>) -> Parsed {
    let bytes = bytes.ok_or(LineError::TooLong)?;
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(error.utf8_error()))?;
    Ok(parse_text(&text)?.map(|recorded| Line { recorded, text }))
}

/// Parses one line without its text.
pub fn parse_record(bytes: &[u8]) -> Result<Option<Recorded>, LineError> {
    parse_text(str::from_utf8(bytes).map_err(not_utf8)?)
}

fn not_utf8(error: Utf8Error) -> LineError {
    LineError::Damaged(format!("no UTF-8: {error}"))
}

fn parse_text(text: &str) -> Result<Option<Recorded>, LineError> {
    let damaged = |why: &str| LineError::Damaged(why.to_owned());
    let trimmed = text.trim_ascii();
    if trimmed.is_empty() {
        return Ok(None);
    }
    if !trimmed.starts_with('{') {
        return Err(damaged("no JSON object"));
    }
    let recorded: Recorded = serde_json::from_str(trimmed).map_err(|error| match error.is_eof() {
        true => LineError::CutOff,
        false => damaged(&format!("no record: {error}")),
    })?;
    match recorded.v {
        VERSION => Ok(Some(recorded)),
        0 => Err(damaged("no record: it has no version")),
        newer => Err(LineError::NewerVersion(newer)),
    }
}

/// The lines in the last `most` bytes of a log, oldest first, whose bytes look wanted. Skips unreadable lines, and compressed
/// segments.
pub fn tail(log: &EventLog, most: u64, wants: impl Fn(&[u8]) -> bool) -> io::Result<Vec<Line>> {
    let mut left = most;
    let mut parts = Vec::new();
    let mut segments = log.own_segments()?;
    // Those of single lines come last.
    segments.sort_by_key(|segment| segment.modified);
    for segment in segments.into_iter().rev().filter(|segment| !segment.is_packed) {
        let part = segment.size.min(left);
        left -= part;
        let skipped = segment.size - part;
        parts.push((segment, skipped));
        if left == 0 {
            break;
        }
    }
    let mut found = Vec::new();
    for (segment, skipped) in parts.into_iter().rev() {
        // From the byte before on: the first line break ends what began earlier.
        let offset = skipped.saturating_sub(1);
        let Ok(mut lines) = segment.open_at(Position { offset, lines: 0 }) else { continue };
        if skipped > 0 {
            lines.next();
        }
        let wanted = lines.map_while(Result::ok).filter(|raw| raw.bytes.as_deref().is_some_and(&wants));
        found.extend(wanted.filter_map(|raw| parse(raw.bytes).ok().flatten()));
    }
    Ok(found)
}
