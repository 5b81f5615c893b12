//! The end of logs: their last lines, and what comes after them.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;

use teamkeep_model::time::Timestamp;
use teamkeep_store::log::{EventLog, Line, Logs, Position, Raw, Segment, SegmentName, parse};
use teamkeep_system::fs;

use super::{Range, ReadErrors, Reader};

/// Waits for new lines of all logs, across new logs and segments; no line comes twice, and none before its line break.
#[derive(Debug)]
pub struct Follower {
    logs: Logs,
    range: Range,
    seen: HashMap<PathBuf, Seen>,
    pub problems: ReadErrors,
}

/// The part of a log that was read.
#[derive(Debug, Default)]
struct Seen {
    /// The number of the last line of the closed segments that were read.
    closed: u64,
    /// The position after that.
    position: Position,
    single: BTreeSet<SegmentName>,
}

impl Follower {
    pub fn new(logs: &Logs, range: Range) -> Follower {
        Follower { logs: logs.clone(), range, seen: HashMap::new(), problems: ReadErrors::default() }
    }

    /// Passes over all lines that exist now.
    pub fn skip_to_end(&mut self) -> io::Result<()> {
        for log in self.logs.all()? {
            let mut seen = Seen::default();
            for segment in log.own_segments()? {
                match &segment.name {
                    SegmentName::Closed(end) => seen.closed = end.count,
                    SegmentName::Current => seen.position = end_of(&segment),
                    other => drop(seen.single.insert(other.clone())),
                }
            }
            self.seen.insert(log.dir().to_owned(), seen);
        }
        Ok(())
    }

    /// Passes on the lines that were written since, the lines of each log in its order, and otherwise by time.
    pub fn poll(&mut self, each: impl FnMut(Line) -> io::Result<()>) -> io::Result<()> {
        let mut lines = Vec::new();
        for log in self.logs.all()? {
            self.read(&log, &mut lines)?;
        }
        lines.sort_by_key(|(reached, _)| *reached);
        lines.into_iter().map(|(_, line)| line).try_for_each(each)
    }

    fn read(&mut self, log: &EventLog, lines: &mut Vec<(Timestamp, Line)>) -> io::Result<()> {
        let seen = self.seen.entry(log.dir().to_owned()).or_default();
        let mut reached = Timestamp::MIN;
        for segment in log.own_segments()? {
            let mut add = |line: Line| {
                reached = reached.max(line.recorded.at);
                if self.range.holds(line.recorded.at) {
                    lines.push((reached, line));
                }
            };
            match &segment.name {
                SegmentName::Closed(end) if end.count <= seen.closed => {}
                SegmentName::Closed(end) => {
                    read_from(&segment, seen.position, &mut self.problems, &mut add);
                    (seen.closed, seen.position) = (end.count, Position::default());
                }
                SegmentName::Current => {
                    if segment.size < seen.position.offset {
                        // It was removed while its session was idle.
                        seen.position = Position::default();
                    }
                    if segment.size > seen.position.offset {
                        seen.position = read_from(&segment, seen.position, &mut self.problems, &mut add);
                    }
                }
                single if seen.single.contains(single) => {}
                single => {
                    let position = read_from(&segment, Position::default(), &mut self.problems, &mut add);
                    if position.offset > 0 {
                        seen.single.insert(single.clone());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Reads the whole lines of a segment from a position on. Returns the position after them.
fn read_from(
    segment: &Segment,
    from: Position,
    problems: &mut ReadErrors,
    each: &mut impl FnMut(Line),
) -> Position {
    let mut position = from;
    let path = segment.path();
    let mut read = || -> io::Result<()> {
        let mut lines = segment.open_at(from)?;
        let mut next = || lines.next().transpose().map_err(|error| fs::with_path(error, "read", &path));
        while let Some(raw) = next()?.filter(|raw| raw.whole) {
            position.offset += raw.size;
            position.lines += 1;
            match parse(raw.bytes) {
                Ok(Some(line)) => each(line),
                Ok(None) => {}
                Err(why) => problems.add(&path, Some(position.lines), why.to_string()),
            }
        }
        Ok(())
    };
    match read() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            problems.add(&path, None, error.to_string());
            Position { offset: segment.size, ..position }
        }
        _ => position,
    }
}

/// The position after the whole lines of a segment.
fn end_of(segment: &Segment) -> Position {
    let lines = segment.open().into_iter().flat_map(|lines| lines.map_while(Result::ok));
    let add = |end: Position, raw: Raw| Position { offset: end.offset + raw.size, lines: end.lines + 1 };
    lines.take_while(|raw| raw.whole).fold(Position::default(), add)
}

/// The last `count` lines that are wanted. Reads the logs that were written to last, and others only as far as these have too few.
pub fn last(
    logs: &[EventLog],
    range: Range,
    count: usize,
    wanted: impl Fn(&Line) -> bool,
) -> (Vec<Line>, ReadErrors) {
    let mut problems = ReadErrors::default();
    let mut segments: Vec<Segment> = Vec::new();
    for log in logs {
        match log.own_segments() {
            Ok(all) => segments.extend(all),
            Err(error) => problems.add(log.dir(), None, error.to_string()),
        }
    }
    segments.sort_by_key(|segment| segment.modified);
    let mut found: Vec<Line> = Vec::new();
    for segment in segments.into_iter().rev() {
        // Nothing in it is newer, unless a clock was set back.
        let oldest = found.len().checked_sub(count).and_then(|place| found.get(place));
        if count == 0 || oldest.is_some_and(|oldest| segment.modified < oldest.recorded.at) {
            break;
        }
        let mut reader = Reader::over(segment, range);
        let lines: Vec<Line> = reader.by_ref().filter(&wanted).collect();
        found.splice(..0, lines);
        problems.merge(reader.problems);
        found.sort_by_key(|line| line.recorded.at);
        found.drain(..found.len().saturating_sub(count));
    }
    (found, problems)
}

#[cfg(test)]
mod tests;
