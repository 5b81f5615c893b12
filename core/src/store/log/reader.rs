//! Reading the log: line by line, segment by segment, past whatever cannot be read.

use std::io;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use super::lines::{Lines, Position, Raw};
use super::parts::{Parts, merged};
use super::{Range, ReadError, ReadErrors, Segment, SegmentName};
use crate::model::event::Recorded;

pub(super) const VERSION: u8 = 1;

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
    open: Option<Open>,
    /// From this segment on, a line may be half-written because its writer is still running.
    is_active: Option<SegmentName>,
    range: Range,
    problems: ReadErrors,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    lines: Lines,
    is_active: bool,
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
            is_active: growing,
            range,
            problems: ReadErrors::default(),
        }
    }

    pub fn problems(&self) -> &ReadErrors {
        &self.problems
    }

    pub fn into_problems(self) -> ReadErrors {
        self.problems
    }

    fn next_here(&mut self, parse: &impl Fn(Raw) -> Parsed) -> Option<Result<Line, Option<ReadError>>> {
        let open = self.open.as_mut()?;
        let problem = |line, why| Some(ReadError { path: open.path.clone(), line, why });
        let raw = match open.lines.next() {
            Ok(raw) => raw?,
            Err(error) => {
                let why = format!("cannot read {}: {error}", open.path.display());
                let problem = problem(None, why);
                self.open = None;
                return Some(Err(problem));
            }
        };
        let being_written = open.is_active && !raw.whole;
        Some(match parse(raw) {
            Ok(Some(line)) if self.range.holds(&line.recorded.at) => Ok(line),
            Ok(_) => Err(None),
            Err(_) if being_written => Err(None),
            Err(why) => Err(problem(Some(open.lines.position.lines), why.to_string())),
        })
    }

    /// Opens a segment, or its parts if it was removed: the lines that runs need were copied into them before.
    fn open_segment(&mut self, segment: &Segment) {
        let path = segment.path(&self.dir);
        match Lines::open(&path, Position::default()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parts = self.parts.of_segment(&segment.name);
                let lines = match parts.as_slice() {
                    [] => return self.open = None,
                    [part] => Lines::open_packed(part),
                    parts => Ok(merged(parts, &mut |problem| self.problems.add(problem))),
                };
                self.set_open(&parts[0], lines);
            }
            lines => self.set_open(&path, lines),
        }
        if let Some(open) = &mut self.open {
            open.is_active = self.is_active.as_ref().is_some_and(|first| segment.name >= *first);
        }
    }

    fn set_open(&mut self, path: &Path, lines: io::Result<Lines>) {
        let path = path.to_owned();
        self.open = match lines {
            Ok(lines) => Some(Open { path, lines, is_active: false }),
            Err(error) => {
                self.problems.add(ReadError { path, line: None, why: error.to_string() });
                None
            }
        };
    }

    pub(super) fn step(&mut self, parse: &impl Fn(Raw) -> Parsed) -> Option<Line> {
        loop {
            match self.next_here(parse) {
                Some(Ok(line)) => return Some(line),
                Some(Err(problem)) => problem.into_iter().for_each(|problem| self.problems.add(problem)),
                None => {
                    let segment = self.segments.next()?;
                    self.open_segment(&segment);
                }
            }
        }
    }
}

impl Iterator for Reader {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        self.step(&parse)
    }
}

/// The result of a line: `None` if it is blank or not wanted.
pub type Parsed = Result<Option<Line>, LineError>;

#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("too long for a line of the log")]
    TooLong,
    #[error("no UTF-8: {0}")]
    Encoding(#[source] std::str::Utf8Error),
    #[error("no JSON object")]
    NotAnObject,
    #[error("cut off; its writer must have been killed")]
    CutOff(#[source] serde_json::Error),
    #[error("no record: {0}")]
    NotAnEvent(#[source] serde_json::Error),
    #[error("no record: it has no version")]
    NoVersion,
    #[error("format version {0}: a newer teamkeep wrote it, and is needed to read it")]
    NewerVersion(u8),
}

/// The first segment whose last line may be half-written: the newest that takes many lines. Newer solo segments may be
/// half-written, too.
pub(super) fn growing(segments: &[Segment]) -> Option<&SegmentName> {
    let many = segments.iter().rfind(|segment| !segment.name.is_single_line());
    many.or(segments.first()).map(|segment| &segment.name)
}

/// Parses one line; `None` for a blank one.
pub fn parse(raw: Raw) -> Parsed {
    let bytes = raw.bytes.ok_or(LineError::TooLong)?;
    let text = String::from_utf8(bytes).map_err(|error| LineError::Encoding(error.utf8_error()))?;
    let trimmed = text.trim_ascii();
    if trimmed.is_empty() {
        return Ok(None);
    }
    if !trimmed.starts_with('{') {
        return Err(LineError::NotAnObject);
    }
    let recorded: Recorded = serde_json::from_str(trimmed).map_err(|error| match error.is_eof() {
        true => LineError::CutOff(error),
        false => LineError::NotAnEvent(error),
    })?;
    match recorded.v {
        VERSION => Ok(Some(Line { recorded, text })),
        0 => Err(LineError::NoVersion),
        newer => Err(LineError::NewerVersion(newer)),
    }
}

/// Calls `each` for each line of a file. Fails only if `each` fails; unreadable lines are counted and skipped.
pub fn read_lines(path: &Path, each: impl FnMut(Line) -> io::Result<()>) -> io::Result<ReadErrors> {
    let mut reader = Reader::over(Path::new(""), &Parts::default(), Vec::new(), None, Range::default());
    reader.set_open(path, Lines::open(path, Position::default()));
    reader.by_ref().try_for_each(each)?;
    Ok(reader.into_problems())
}

#[cfg(test)]
mod tests;
