//! Reading logs: line by line, past whatever cannot be read.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::vec::IntoIter;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines::Lines;
use super::{EventLog, Range, ReadErrors, Segment, SegmentName};
use crate::model::event::Recorded;
use crate::sys::clock::Timestamp;
use crate::sys::parallel::{self, InOrder};

const VERSION: u8 = 1;

#[derive(Debug, Clone)]
pub struct Line {
    pub recorded: Recorded,
    pub text: String,
}

/// The lines of several logs of a range of time. The lines of each log are in its order, and otherwise by their time.
///
/// A line that cannot be read is counted and passed over; so is a segment. A line of each log of the same time is in memory.
#[derive(Debug, Default)]
pub struct Reader {
    /// The logs that begin later, the next one last.
    waiting: Vec<Source>,
    open: Vec<Source>,
    /// The open sources with a next line, by the time that they have reached.
    next: BinaryHeap<Reverse<(Timestamp, usize)>>,
    range: Range,
    pub problems: ReadErrors,
}

/// Segments that are read one after the other.
#[derive(Debug)]
struct Source {
    begins: Timestamp,
    segments: IntoIter<Segment>,
    lines: Option<(Segment, Lines)>,
    /// The latest time so far: a clock that is set back does not change the order.
    reached: Timestamp,
    next: Option<Line>,
}

impl Reader {
    pub fn of(logs: &[EventLog], range: Range) -> Reader {
        Reader::with(logs, range, EventLog::segments)
    }

    /// Without the events of imported runs.
    pub fn of_own(logs: &[EventLog], range: Range) -> Reader {
        Reader::with(logs, range, EventLog::own_segments)
    }

    fn with(
        logs: &[EventLog],
        range: Range,
        segments: impl Fn(&EventLog) -> io::Result<Vec<Segment>>,
    ) -> Reader {
        let mut reader = Reader { range, ..Reader::default() };
        for log in logs {
            match segments(log) {
                Ok(segments) => reader.add(segments),
                Err(error) => reader.problems.add(log.dir(), None, error.to_string()),
            }
        }
        reader.waiting.sort_by_key(|source| Reverse(source.begins));
        reader
    }

    /// The lines of one segment.
    pub fn over(segment: Segment, range: Range) -> Reader {
        let mut reader = Reader { range, ..Reader::default() };
        reader.add(vec![segment]);
        reader
    }

    fn add(&mut self, mut segments: Vec<Segment>) {
        segments.retain(|segment| self.range.overlaps(segment));
        let (single, main): (Vec<_>, Vec<_>) = segments.into_iter().partition(|one| one.name.is_single());
        let sources = single.into_iter().map(|one| vec![one]).chain([main]);
        self.waiting.extend(sources.filter_map(|segments| {
            let begins = segments.first()?.begins();
            Some(Source { begins, ..Source::of(segments) })
        }));
    }

    /// Reads the next line of an open source.
    fn advance(&mut self, place: usize) {
        let Some(source) = self.open.get_mut(place) else { return };
        source.next = source.read(&mut self.problems, &parse);
        if let Some(line) = &source.next {
            source.reached = source.reached.max(line.recorded.at);
            self.next.push(Reverse((source.reached, place)));
        }
    }

    fn next_line(&mut self) -> Option<Line> {
        while let Some(source) = self
            .waiting
            .pop_if(|source| self.next.peek().is_none_or(|Reverse((reached, _))| source.begins <= *reached))
        {
            self.open.push(source);
            self.advance(self.open.len() - 1);
        }
        let Reverse((_, place)) = self.next.pop()?;
        let line = self.open.get_mut(place)?.next.take();
        self.advance(place);
        line
    }
}

impl Iterator for Reader {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            let line = self.next_line()?;
            if self.range.holds(line.recorded.at) {
                return Some(line);
            }
        }
    }
}

impl Source {
    fn of(segments: Vec<Segment>) -> Source {
        let (begins, reached) = (Timestamp::MIN, Timestamp::MIN);
        Source { begins, segments: segments.into_iter(), lines: None, reached, next: None }
    }

    /// The next line that `parse` does not drop.
    fn read(
        &mut self,
        problems: &mut ReadErrors,
        parse: &impl Fn(Option<Vec<u8>>) -> Parsed,
    ) -> Option<Line> {
        loop {
            let Some((segment, lines)) = &mut self.lines else {
                let segment = self.segments.next()?;
                match segment.open() {
                    Ok(lines) => self.lines = Some((segment, lines)),
                    // It was pruned since it was listed.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => problems.add(&segment.path(), None, error.to_string()),
                }
                continue;
            };
            match lines.next() {
                None => self.lines = None,
                Some(Err(error)) => {
                    let path = segment.path();
                    problems.add(&path, None, format!("cannot read {}: {error}", path.display()));
                    self.lines = None;
                }
                Some(Ok(raw)) => match parse(raw.bytes) {
                    Ok(Some(line)) => return Some(line),
                    Err(why) if raw.whole || segment.name < SegmentName::Current => {
                        problems.add(&segment.path(), Some(lines.position.lines), why.to_string());
                    }
                    Ok(None) => {}
                    // The last line is half-written: its writer may still run. The rest of it is not a line.
                    Err(_) => self.lines = None,
                },
            }
        }
    }
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

/// Reads segments in several threads, maps each line that is wanted, and passes the values on in order, each with the place of its
/// segment. Other lines are parsed only as far as their header. A few segments are in memory at a time.
///
/// # Errors
/// No thread can be started.
pub fn filter_parallel<T: Send>(
    segments: &[Segment],
    wants: impl Fn(&LineHeader<'_>) -> bool + Sync,
    make: impl Fn(Line) -> T + Sync,
    mut each: impl FnMut(usize, T),
) -> io::Result<ReadErrors> {
    let parse_wanted = |bytes: Option<Vec<u8>>| {
        let header = bytes.as_deref().and_then(|bytes| serde_json::from_slice::<LineHeader<'_>>(bytes).ok());
        let is_wanted = header.is_none_or(|header| header.v != VERSION || wants(&header));
        if is_wanted { parse(bytes) } else { Ok(None) }
    };
    let read = |segment: &Segment, (): &mut ()| {
        let (mut source, mut problems) = (Source::of(vec![segment.clone()]), ReadErrors::default());
        let lines = std::iter::from_fn(|| source.read(&mut problems, &parse_wanted)).map(&make);
        let lines: Vec<T> = lines.collect();
        Some((lines, problems))
    };
    let (mut ready, mut problems) = (InOrder::default(), ReadErrors::default());
    let done: io::Result<()> = parallel::for_each(segments, MAX_THREADS, read, |place, read| {
        ready.insert(place, read);
        while let Some((lines, wrong)) = ready.take_due() {
            let place = ready.due - 1;
            lines.into_iter().for_each(|line| each(place, line));
            problems.merge(wrong);
        }
        Ok(())
    });
    done.map(|()| problems)
}

#[cfg(test)]
mod tests;
