//! Reading logs: line by line, past whatever cannot be read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::str::{self, Utf8Error};
use std::vec::IntoIter;

use super::lines::Lines;
use super::{EventLog, Range, ReadErrors, Segment, SegmentName};
use teamkeep_model::event::Recorded;
use teamkeep_model::time::Timestamp;
use teamkeep_system::parallel::{self, InOrder};

/// The format of the lines.
pub const VERSION: u8 = 1;

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
        source.next = source.read(&mut self.problems, &|_, bytes| parse(bytes.take()));
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

    /// The value of the next line that `parse` does not drop. The bytes that `parse` leaves are used for the next line.
    fn read<T>(
        &mut self,
        problems: &mut ReadErrors,
        parse: &impl Fn(&Segment, &mut Option<Vec<u8>>) -> Result<Option<T>, LineError>,
    ) -> Option<T> {
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
                Some(Ok(mut raw)) => {
                    let parsed = parse(segment, &mut raw.bytes);
                    lines.spare = raw.bytes.unwrap_or_default();
                    match parsed {
                        Ok(Some(value)) => return Some(value),
                        Err(why) if raw.whole || segment.name < SegmentName::Current => {
                            problems.add(&segment.path(), Some(lines.position.lines), why.to_string());
                        }
                        Ok(None) => {}
                        // The last line is half-written: its writer may still run. The rest of it is not a line.
                        Err(_) => self.lines = None,
                    }
                }
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

const MAX_THREADS: usize = 8;

/// Reads segments in several threads, and passes on the values that `parse` returns for their lines: in order, each with the place
/// of its segment. A line without a value is dropped. The values of a few segments are in memory at a time.
///
/// # Errors
/// No thread can be started.
pub fn read_parallel<T: Send>(
    segments: &[Segment],
    parse: impl Fn(&Segment, &[u8]) -> Result<Option<T>, LineError> + Sync,
    mut each: impl FnMut(usize, T),
) -> io::Result<ReadErrors> {
    let parse = |segment: &Segment, bytes: &mut Option<Vec<u8>>| {
        parse(segment, bytes.as_deref().ok_or(LineError::TooLong)?)
    };
    let read = |segment: &Segment, (): &mut ()| {
        let (mut source, mut problems) = (Source::of(vec![segment.clone()]), ReadErrors::default());
        let values: Vec<T> = std::iter::from_fn(|| source.read(&mut problems, &parse)).collect();
        Some((values, problems))
    };
    let (mut ready, mut problems) = (InOrder::default(), ReadErrors::default());
    let done: io::Result<()> = parallel::for_each(segments, MAX_THREADS, read, |place, read| {
        ready.insert(place, read);
        while let Some((values, wrong)) = ready.take_due() {
            let place = ready.due - 1;
            values.into_iter().for_each(|value| each(place, value));
            problems.merge(wrong);
        }
        Ok(())
    });
    done.map(|()| problems)
}

#[cfg(test)]
mod tests;
