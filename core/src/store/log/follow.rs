//! The end of the log: its last lines, and what comes after them.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use super::lines::{Lines, Position};
use super::reader::{growing, parse};
use super::{Line, Parts, Range, ReadErrors, Reader, Segment, SegmentName, segments};

/// Waits for new lines, across new segments; no line comes twice, and none before its line break.
#[derive(Debug)]
pub struct Follower {
    dir: PathBuf,
    range: Range,
    seen: HashMap<SegmentName, Position>,
    pub problems: ReadErrors,
}

impl Follower {
    pub fn new(dir: &Path, range: Range) -> Follower {
        Follower { dir: dir.to_owned(), range, seen: HashMap::new(), problems: ReadErrors::default() }
    }

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
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.problems.add(&path, None, error.to_string());
                self.seen.insert(segment.name.clone(), Position { offset: segment.size, ..seen });
                return Ok(());
            }
        };
        while let Some(Ok(raw)) = lines.next()
            && raw.whole
        {
            self.seen.insert(segment.name.clone(), lines.position);
            match parse(raw.bytes) {
                Ok(Some(line)) if self.range.holds(line.recorded.at) => each(line)?,
                Ok(_) => {}
                Err(why) => self.problems.add(&path, Some(lines.position.lines), why.to_string()),
            }
        }
        Ok(())
    }
}

/// Reads the last `count` lines that are wanted, from the end; the follower waits for the next. Older segments, or the parts of
/// removed ones, are opened only if the newer ones have too few.
pub fn last(
    dir: &Path,
    parts: &Parts,
    range: Range,
    count: usize,
    wanted: impl Fn(&Line) -> bool,
) -> io::Result<(VecDeque<Line>, Follower)> {
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
        push_last(&mut lines, line, count, &wanted);
        Ok(())
    })?;
    while lines.len() < count
        && let Some(segment) = closed.pop()
    {
        let mut reader = Reader::over(dir, parts, vec![segment], None, range);
        let mut older = VecDeque::new();
        let room = count - lines.len();
        reader.by_ref().for_each(|line| push_last(&mut older, line, room, &wanted));
        older.into_iter().rev().for_each(|line| lines.push_front(line));
        follower.problems.merge(reader.problems);
    }
    Ok((lines, follower))
}

fn push_last(lines: &mut VecDeque<Line>, line: Line, count: usize, wanted: impl Fn(&Line) -> bool) {
    if count > 0 && wanted(&line) {
        if lines.len() == count {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// The lines in the last `most` bytes of the log, oldest first, whose bytes look wanted. Skips unreadable lines.
pub fn tail(dir: &Path, most: u64, wants: impl Fn(&[u8]) -> bool) -> io::Result<Vec<Line>> {
    let mut left = most;
    let mut parts = Vec::new();
    for segment in segments::list(dir)?.into_iter().rev() {
        let part = segment.size.min(left);
        left -= part;
        parts.push((segment.path(dir), segment.size - part));
        if left == 0 {
            break;
        }
    }
    let mut found = Vec::new();
    for (path, skipped) in parts.into_iter().rev() {
        // From the byte before on: the first line break ends what began earlier.
        let offset = skipped.saturating_sub(1);
        let Ok(mut lines) = Lines::open(&path, Position { offset, lines: 0 }) else { continue };
        if skipped > 0 {
            lines.next();
        }
        let wanted = lines.map_while(Result::ok).filter(|raw| raw.bytes.as_deref().is_some_and(&wants));
        found.extend(wanted.filter_map(|raw| parse(raw.bytes).ok().flatten()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
