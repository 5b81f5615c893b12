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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tempfile::TempDir;

    use super::super::LogOwner;
    use super::*;

    /// Each text of up to six bytes that are line breaks or not.
    fn texts() -> impl Iterator<Item = Vec<u8>> {
        (0..=6_u32).flat_map(|length| {
            let byte = |bits: u32, at: u32| if bits >> at & 1 == 1 { b'\n' } else { b'a' + at as u8 };
            (0..1 << length).map(move |bits| (0..length).map(|at| byte(bits, at)).collect())
        })
    }

    #[test]
    fn a_file_has_its_lines_from_each_place_and_also_if_it_is_compressed() {
        let dir = TempDir::new().unwrap();
        let (plain, packed) = (dir.path().join("plain"), dir.path().join("packed"));
        for text in texts() {
            std::fs::write(&plain, &text).unwrap();
            let mut encoder = GzEncoder::new(File::create(&packed).unwrap(), Compression::fast());
            encoder.write_all(&text).unwrap();
            encoder.finish().unwrap();
            for offset in 0..=text.len() {
                let position = Position { offset: offset as u64, lines: 3 };
                for mut lines in
                    [Lines::open(&plain, position), Lines::open_packed(&packed, position)].map(Result::unwrap)
                {
                    let rest = &text[offset..];
                    assert_eq!(lines.peek(2).unwrap(), rest[..rest.len().min(2)], "{text:?} {offset}");
                    let pieces: Vec<&[u8]> = rest.split_inclusive(|byte| *byte == b'\n').collect();
                    for piece in &pieces {
                        let raw = lines.next().unwrap().unwrap();
                        let (is_whole, size) = (piece.ends_with(b"\n"), piece.len() as u64);
                        let bytes = piece.strip_suffix(b"\n").unwrap_or(piece);
                        assert_eq!(
                            (raw.bytes.as_deref(), raw.whole, raw.size),
                            (Some(bytes), is_whole, size)
                        );
                    }
                    assert!(lines.next().is_none(), "{text:?} {offset}");
                    let end = Position { offset: text.len() as u64, lines: 3 + pieces.len() as u64 };
                    assert_eq!(lines.position, end, "{text:?} {offset}");
                }
            }
        }
    }

    fn line(id: &str) -> String {
        let actor = r#"{"name":null,"id":null,"kind":"lead"}"#;
        format!(
            r#"{{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"{id}","event":"Stop","session":null,"team":null,"actor":{actor},"run":null,"payload":null}}"#
        )
    }

    #[test]
    fn a_line_is_an_event_or_has_a_reason() {
        let good = line("one");
        for text in [good.clone(), format!(" {good}\r")] {
            assert_eq!(parse_record(text.as_bytes()).unwrap().unwrap().id, "one");
            let line = parse(Some(text.clone().into_bytes())).unwrap().unwrap();
            assert_eq!((line.recorded.id.as_str(), line.text), ("one", text));
        }
        assert!(parse_record(b" ").unwrap().is_none());
        assert!(parse(Some(Vec::new())).unwrap().is_none());
        assert!(matches!(parse(None), Err(LineError::TooLong)));
        for (bytes, why) in [
            (&b"x"[..], "no JSON object"),
            (b"[]", "no JSON object"),
            (b"\xff", "no UTF-8: invalid utf-8 sequence of 1 bytes from index 0"),
            (&good.as_bytes()[..good.len() - 1], CUT_OFF),
            (good.replace("\"v\":1", "\"v\":0").as_bytes(), "no record: it has no version"),
            (
                good.replace("\"v\":1", "\"v\":2").as_bytes(),
                "format version 2: a newer teamkeep wrote it, and is needed to read it",
            ),
        ] {
            assert_eq!(parse_record(bytes).unwrap_err().to_string(), why);
            assert_eq!(parse(Some(bytes.to_vec())).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn the_tail_has_the_lines_that_are_complete_in_its_bytes() {
        let dir = TempDir::new().unwrap();
        let log = EventLog { owner: LogOwner::Run("r".to_owned()), dir: dir.path().to_owned() };
        // The single line was written later, by a call that did not get the lock.
        let text = ["one", "two", "six"].map(|id| line(id) + "\n").concat() + "torn {";
        std::fs::write(dir.path().join("events.jsonl"), &text).unwrap();
        let single = dir.path().join("events-single-01m8jf05f07p343cmxqeg53wfm.jsonl");
        std::fs::write(&single, line("ten") + "\n").unwrap();
        let later = single.metadata().unwrap().modified().unwrap() + std::time::Duration::from_secs(60);
        std::fs::File::options().write(true).open(&single).unwrap().set_modified(later).unwrap();
        let length = line("one").len() as u64 + 1;
        let of = |most: u64, wants: &dyn Fn(&[u8]) -> bool| -> Vec<String> {
            tail(&log, most, wants).unwrap().into_iter().map(|line| line.recorded.id).collect()
        };
        let ids = |most: u64| of(most, &|_| true);
        let whole = text.len() as u64 + length;
        assert_eq!(ids(whole), ["one", "two", "six", "ten"]);
        assert_eq!(ids(whole + 9), ["one", "two", "six", "ten"]);
        assert_eq!(ids(whole - 1), ["two", "six", "ten"]);
        // From the first byte of a line on, and from the second.
        assert_eq!(ids(whole - length), ["two", "six", "ten"]);
        assert_eq!(ids(whole - length - 1), ["six", "ten"]);
        assert_eq!(ids(length), ["ten"]);
        assert_eq!(ids(length - 1), [""; 0]);
        assert_eq!(of(whole, &|bytes| bytes.windows(3).any(|part| part == b"two")), ["two"]);
    }
}
