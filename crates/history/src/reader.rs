//! Reading logs: line by line, past whatever cannot be read. And which lines of a session's log belong to which run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::{Path, PathBuf};
use std::vec::IntoIter;
use std::{fmt, io};

use chrono::TimeDelta;

use crate::parallel::{self, MAX_THREADS};
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::FEW;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::log::{EventLog, Line, LineError, Lines, Segment, SegmentName, parse};

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
        (values, problems)
    };
    let mut problems = ReadErrors::default();
    parallel::for_each_in_order(segments, MAX_THREADS, read, |place, (values, wrong)| {
        values.into_iter().for_each(|value| each(place, value));
        problems.merge(wrong);
    })?;
    Ok(problems)
}

/// From one instant to another, both included; without one it is open on that side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// Lines can be so much older than the lines before them, and than the time at which their file was written.
const SLACK: TimeDelta = TimeDelta::days(1);

impl Range {
    /// Whether a segment can have lines of this range.
    pub fn overlaps(&self, segment: &Segment) -> bool {
        self.since.is_none_or(|since| segment.modified + SLACK >= since)
            && self.until.is_none_or(|until| segment.begins() <= until + SLACK)
    }

    /// Whether a line of this time is in the range. A line with an invalid time is only in the open range.
    pub fn holds(&self, at: Timestamp) -> bool {
        if *self == Range::default() {
            return true;
        }
        let inside = |at: Timestamp| {
            self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at <= until)
        };
        at.is_valid() && inside(at)
    }
}

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

    pub fn add(&mut self, path: &Path, line: Option<u64>, why: String) {
        self.count += 1;
        if self.first.len() < FEW {
            self.first.push(ReadError { path: path.to_owned(), line, why });
        }
    }

    pub fn merge(&mut self, other: ReadErrors) {
        let room = FEW.saturating_sub(self.first.len());
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

/// The runs of each session that were recorded here, for events that do not name a run.
#[derive(Debug)]
pub struct Claims<'a> {
    runs_of: HashMap<&'a str, Vec<&'a RunRecord>>,
}

impl<'a> Claims<'a> {
    pub fn new(all: &'a [RunRecord]) -> Claims<'a> {
        let mut runs_of: HashMap<&str, Vec<&RunRecord>> = HashMap::new();
        for run in all.iter().filter(|run| run.imported.is_none()) {
            for session in &run.sessions {
                runs_of.entry(&session.id).or_default().push(run);
            }
        }
        Claims { runs_of }
    }

    /// The run of an event: the one that it names, or else the next run of its session, or else the last one.
    pub fn run_of(&self, run: Option<&str>, session: Option<&str>, at: Timestamp) -> Option<String> {
        if let Some(run) = run {
            return Some(run.to_owned());
        }
        let runs = self.runs_of(session?);
        let next = runs.iter().filter(|run| run.started_at >= at).min_by_key(|run| run.started_at);
        let last = || runs.iter().max_by_key(|run| run.started_at);
        next.or_else(last).map(|run| run.run.clone())
    }

    /// The runs that a session took part in.
    pub(crate) fn runs_of(&self, session: &str) -> &[&'a RunRecord] {
        self.runs_of.get(session).map(Vec::as_slice).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
