//! The end of the log, and what comes after it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use super::lines::{Lines, Position};
use super::reader::{growing, parse};
use super::{Line, Parts, Range, ReadError, ReadErrors, Reader, Segment, SegmentName, segments};

/// Waits for new lines, across new segments; no line comes twice, and none before its line break.
#[derive(Debug)]
pub struct Follower {
    dir: PathBuf,
    range: Range,
    seen: HashMap<SegmentName, Position>,
    problems: ReadErrors,
}

impl Follower {
    /// Follows the log in this directory from its beginning.
    pub fn new(dir: &Path, range: Range) -> Follower {
        Follower { dir: dir.to_owned(), range, seen: HashMap::new(), problems: ReadErrors::default() }
    }

    /// Hands over the lines that have come since the last time.
    ///
    /// # Errors
    /// When the directory cannot be listed, or `each` fails.
    pub fn poll(&mut self, mut each: impl FnMut(Line) -> io::Result<()>) -> io::Result<()> {
        let segments = segments::list(&self.dir)?;
        for segment in &segments {
            let seen = self.seen.get(&segment.name).copied().unwrap_or_default();
            if segment.size != seen.offset && self.range.overlaps(&segment.name) {
                self.read(segment, seen, &mut each)?;
            }
        }
        if self.seen.len() > segments.len() {
            self.seen.retain(|name, _| segments.iter().any(|segment| segment.name == *name));
        }
        Ok(())
    }

    /// The problems since the last call.
    pub fn take_problems(&mut self) -> ReadErrors {
        std::mem::take(&mut self.problems)
    }

    fn read(
        &mut self,
        segment: &Segment,
        mut seen: Position,
        each: &mut impl FnMut(Line) -> io::Result<()>,
    ) -> io::Result<()> {
        let path = segment.path(&self.dir);
        // A writer that met a full disk took its part of a line back: nothing that was seen is gone.
        seen.offset = seen.offset.min(segment.size);
        let mut lines = match Lines::open(&path, seen) {
            Ok(lines) => lines,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.problems.add(ReadError { path, line: None, why: error.to_string() });
                    self.seen.insert(segment.name.clone(), Position { offset: segment.size, ..seen });
                }
                return Ok(());
            }
        };
        while let Ok(Some(raw)) = lines.next() {
            if !raw.whole {
                break;
            }
            self.seen.insert(segment.name.clone(), lines.position);
            match parse(raw) {
                Ok(Some(line)) if self.range.holds(&line.recorded.at) => each(line)?,
                Ok(_) => {}
                Err(error) => {
                    let (line, why) = (Some(lines.position.lines), error.to_string());
                    self.problems.add(ReadError { path: path.clone(), line, why });
                }
            }
        }
        Ok(())
    }
}

/// The last lines, and a follower for what comes after them.
#[derive(Debug)]
pub struct FollowPosition {
    /// The lines, oldest first.
    pub lines: VecDeque<Line>,
    /// Hands over what comes later.
    pub follower: Follower,
    /// The problems.
    pub problems: ReadErrors,
}

/// Reads the last `count` lines that are wanted, from the end. Older segments, or the parts of removed ones, are opened
/// only if the newer ones have too few.
///
/// # Errors
/// When the directory cannot be listed.
pub fn last(
    dir: &Path,
    parts: &Parts,
    range: Range,
    count: usize,
    wanted: impl Fn(&Line) -> bool,
) -> io::Result<FollowPosition> {
    let mut closed = parts.with_log(dir)?;
    let there: Vec<Segment> = closed.iter().filter(|segment| segment.size > 0).cloned().collect();
    let growing = growing(&there).cloned();
    if let Some(split) = closed.iter().position(|segment| Some(&segment.name) == growing.as_ref()) {
        closed.truncate(split);
    }

    let mut follower = Follower::new(dir, range);
    let passed = |segment: &Segment| (segment.name.clone(), Position { offset: segment.size, lines: 0 });
    follower.seen = closed.iter().map(passed).collect();
    let mut lines = VecDeque::new();
    follower.poll(|line| {
        keep(&mut lines, line, count, &wanted);
        Ok(())
    })?;
    let mut problems = follower.take_problems();
    while lines.len() < count
        && let Some(segment) = closed.pop()
    {
        let mut reader = Reader::over(dir, parts, vec![segment], None, range);
        let mut older = VecDeque::new();
        let room = count - lines.len();
        reader.by_ref().for_each(|line| keep(&mut older, line, room, &wanted));
        older.into_iter().rev().for_each(|line| lines.push_front(line));
        problems.merge(reader.into_problems());
    }
    Ok(FollowPosition { lines, follower, problems })
}

fn keep(lines: &mut VecDeque<Line>, line: Line, count: usize, wanted: impl Fn(&Line) -> bool) {
    if count > 0 && wanted(&line) {
        if lines.len() == count {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

#[cfg(test)]
mod tests;
