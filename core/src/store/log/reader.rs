//! Reading the log: line by line, segment by segment, past whatever cannot be read.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines::{Lines, Position};
use super::segments::Parts;
use super::{Range, ReadErrors, Segment, SegmentName};
use crate::model::event::Recorded;
use crate::sys::clock::Timestamp;
use crate::sys::parallel::{self, InOrder};

const VERSION: u8 = 1;

#[derive(Debug, Clone)]
pub struct Line {
    pub recorded: Recorded,
    pub text: String,
}

/// The lines of a range of time, oldest segment first, and within a segment as they were appended.
///
/// A line that cannot be read is counted and passed over; so is a segment. One line is in memory at a time.
#[derive(Debug)]
pub struct Reader {
    dir: PathBuf,
    segments: IntoIter<Segment>,
    parts: Parts,
    open: Option<(PathBuf, Lines)>,
    /// From this segment on, a line may be half-written because its writer is still running.
    growing: Option<SegmentName>,
    /// Whether the open segment is one of these.
    is_growing: bool,
    range: Range,
    pub problems: ReadErrors,
}

impl Reader {
    pub fn open(dir: &Path, range: Range) -> io::Result<Reader> {
        Reader::with(dir, &Parts::default(), range)
    }

    pub fn with(dir: &Path, parts: &Parts, range: Range) -> io::Result<Reader> {
        let segments = parts.with_log(dir)?;
        let growing = growing(&segments).cloned();
        Ok(Reader::over(dir, parts, segments, growing, range))
    }

    pub(super) fn over(
        dir: &Path,
        parts: &Parts,
        mut segments: Vec<Segment>,
        growing: Option<SegmentName>,
        range: Range,
    ) -> Reader {
        segments.retain(|segment| range.overlaps(&segment.name));
        Reader {
            dir: dir.to_owned(),
            segments: segments.into_iter(),
            parts: parts.clone(),
            open: None,
            growing,
            is_growing: false,
            range,
            problems: ReadErrors::default(),
        }
    }

    /// Opens a segment, or its parts if it was removed: the lines that runs need were copied into them before.
    fn open_segment(&mut self, segment: &Segment) {
        let path = segment.path(&self.dir);
        self.is_growing = self.growing.as_ref().is_some_and(|first| segment.name >= *first);
        match Lines::open(&path, Position::default()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parts = self.parts.of_segment(&segment.name);
                let lines = match parts.as_slice() {
                    [] => return,
                    [part] => Lines::open_packed(part),
                    parts => Ok(merged(parts, &mut self.problems)),
                };
                self.set_open(&parts[0], lines);
            }
            lines => self.set_open(&path, lines),
        }
    }

    fn set_open(&mut self, path: &Path, lines: io::Result<Lines>) {
        match lines {
            Ok(lines) => self.open = Some((path.to_owned(), lines)),
            Err(error) => self.problems.add(path, None, error.to_string()),
        }
    }

    /// The next line that `parse` does not drop.
    fn next_parsed(&mut self, parse: &impl Fn(Option<Vec<u8>>) -> Parsed) -> Option<Line> {
        loop {
            let Some((path, lines)) = &mut self.open else {
                let segment = self.segments.next()?;
                self.open_segment(&segment);
                continue;
            };
            match lines.next() {
                None => self.open = None,
                Some(Err(error)) => {
                    self.problems.add(path, None, format!("cannot read {}: {error}", path.display()));
                    self.open = None;
                }
                Some(Ok(raw)) => match parse(raw.bytes) {
                    Ok(Some(line)) if self.range.holds(line.recorded.at) => return Some(line),
                    Err(why) if raw.whole || !self.is_growing => {
                        self.problems.add(path, Some(lines.position.lines), why.to_string());
                    }
                    Ok(_) | Err(_) => {}
                },
            }
        }
    }
}

impl Iterator for Reader {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        self.next_parsed(&parse)
    }
}

/// The lines of several parts of one segment, in the order of their times.
fn merged(paths: &[PathBuf], problems: &mut ReadErrors) -> Lines {
    let mut all: Vec<(Timestamp, Vec<u8>)> = Vec::new();
    for path in paths {
        let read = Lines::open_packed(path).and_then(|mut lines| {
            lines.try_for_each(|raw| {
                let Some(mut line) = raw?.bytes else { return Ok(()) };
                let header = serde_json::from_slice::<LineHeader<'_>>(&line).ok();
                let at = header.map(|header| header.at).unwrap_or_default();
                line.push(b'\n');
                all.push((at, line));
                Ok(())
            })
        });
        if let Err(error) = read {
            problems.add(path, None, format!("cannot read {}: {error}", path.display()));
        }
    }
    all.sort_by_key(|(at, _)| *at);
    Lines::over(all.into_iter().map(|(_, line)| line).collect::<Vec<_>>().concat())
}

/// The result of a line: `None` if it is blank or not wanted.
pub type Parsed = Result<Option<Line>, LineError>;

#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("{0}")]
    Damaged(String),
    /// Its writer was killed.
    #[error("{CUT_OFF}")]
    CutOff,
    #[error("format version {0}: a newer teamkeep wrote it, and is needed to read it")]
    NewerVersion(u8),
}

/// The newest segment for many lines. Its last line, and that of newer solo segments, may be half-written.
pub(super) fn growing(segments: &[Segment]) -> Option<&SegmentName> {
    let many = segments.iter().rfind(|segment| !segment.name.is_single_line());
    many.or(segments.first()).map(|segment| &segment.name)
}

/// The problem of a line that ends too early.
pub const CUT_OFF: &str = "cut off: its writer was probably killed";

/// Parses one line; `None` for a blank one. The bytes are `None` if there are too many.
pub fn parse(bytes: Option<Vec<u8>>) -> Parsed {
    let damaged = |why: &str| LineError::Damaged(why.to_owned());
    let bytes = bytes.ok_or_else(|| damaged("too long for a line of the log"))?;
    let text =
        String::from_utf8(bytes).map_err(|error| damaged(&format!("no UTF-8: {}", error.utf8_error())))?;
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
        VERSION => Ok(Some(Line { recorded, text })),
        0 => Err(damaged("no record: it has no version")),
        newer => Err(LineError::NewerVersion(newer)),
    }
}

/// Calls `each` for each line of a file. Fails only if `each` fails; unreadable lines are counted and skipped.
pub fn read_lines(path: &Path, each: impl FnMut(Line) -> io::Result<()>) -> io::Result<ReadErrors> {
    let mut reader = Reader::over(Path::new(""), &Parts::default(), Vec::new(), None, Range::default());
    reader.set_open(path, Lines::open(path, Position::default()));
    reader.by_ref().try_for_each(each)?;
    Ok(reader.problems)
}

/// The first fields of a line.
#[derive(Debug, Deserialize)]
pub struct LineHeader<'a> {
    #[serde(default)]
    v: u8,
    #[serde(default)]
    pub at: Timestamp,
    #[serde(default, borrow)]
    pub event: Cow<'a, str>,
    #[serde(default, borrow)]
    pub session: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub run: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub payload: Option<&'a RawValue>,
}

const MAX_THREADS: usize = 8;

/// Reads the log and the parts of removed segments in several threads, maps each line that is wanted, and passes the values on in
/// order. Other lines are parsed only as far as their header. A few segments are in memory at a time.
pub fn filter_parallel<T: Send>(
    dir: &Path,
    parts: &Parts,
    wants: impl Fn(&LineHeader<'_>) -> bool + Sync,
    make: impl Fn(Line) -> T + Sync,
    mut each: impl FnMut(T),
) -> io::Result<ReadErrors> {
    let segments = parts.with_log(dir)?;
    let growing = growing(&segments).cloned();
    let parse_wanted = |bytes: Option<Vec<u8>>| {
        let header = bytes.as_deref().and_then(|bytes| serde_json::from_slice::<LineHeader<'_>>(bytes).ok());
        let is_wanted = header.is_none_or(|header| header.v != VERSION || wants(&header));
        if is_wanted { parse(bytes) } else { Ok(None) }
    };
    let read = |segment: &Segment, (): &mut ()| {
        let mut reader = Reader::over(dir, parts, vec![segment.clone()], growing.clone(), Range::default());
        let lines = std::iter::from_fn(|| reader.next_parsed(&parse_wanted)).map(&make);
        Some((lines.collect::<Vec<T>>(), reader.problems))
    };
    let (mut ready, mut problems) = (InOrder::default(), ReadErrors::default());
    let done: io::Result<()> = parallel::for_each(&segments, MAX_THREADS, read, |place, read| {
        ready.insert(place, read);
        while let Some((lines, wrong)) = ready.take_due() {
            lines.into_iter().for_each(&mut each);
            problems.merge(wrong);
        }
        Ok(())
    });
    done.map(|()| problems)
}

#[cfg(test)]
mod tests;
