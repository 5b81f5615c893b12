//! Reads a large log for few lines: a line is parsed only if its first fields are wanted, and segments are read in
//! parallel.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines::Raw;
use super::reader::{Parsed, VERSION, growing, parse};
use super::{Line, Parts, Range, ReadErrors, Reader, Segment};

#[derive(Debug, Deserialize)]
pub struct LineHeader<'a> {
    #[serde(default)]
    v: u8,
    #[serde(default, borrow)]
    pub at: Cow<'a, str>,
    #[serde(default, borrow)]
    pub event: Cow<'a, str>,
    #[serde(default, borrow)]
    pub session: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub run: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub payload: Option<&'a RawValue>,
}

const SIDE_BY_SIDE: usize = 8;

/// Reads a range of the log, with the parts of removed segments, and maps each line that is wanted, in order.
pub fn filter_parallel<T: Send>(
    dir: &Path,
    parts: &Parts,
    range: Range,
    wants: impl Fn(&LineHeader<'_>) -> bool + Sync,
    make: impl Fn(Line) -> T + Sync,
) -> io::Result<(Vec<T>, ReadErrors)> {
    let segments = parts.with_log(dir)?;
    let growing = growing(&segments).cloned();
    let open = |raw: Raw| open(raw, &wants);
    let read = |segment: &Segment| {
        let mut reader = Reader::over(dir, parts, vec![segment.clone()], growing.clone(), range);
        let lines: Vec<T> = std::iter::from_fn(|| reader.step(&open)).map(&make).collect();
        (lines, reader.into_problems())
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some((place, segment)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|place| Some((place, segments.get(place)?)))
        {
            found.push((place, read(segment)));
        }
        found
    };
    let cores = thread::available_parallelism().map_or(1, usize::from).min(SIDE_BY_SIDE);
    let mut found = thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(segments.len())).map(|_| scope.spawn(work)).collect();
        let mut found = work();
        // A thread that failed has panicked, and the process with it.
        others.into_iter().for_each(|other| found.extend(other.join().unwrap_or_default()));
        found
    });
    found.sort_by_key(|(place, _)| *place);
    let (mut lines, mut problems) = (Vec::new(), ReadErrors::default());
    for (_, (some, wrong)) in found {
        lines.extend(some);
        problems.merge(wrong);
    }
    Ok((lines, problems))
}

/// Parses a wanted line; a line without readable first fields is parsed completely to find its problem.
fn open(raw: Raw, wants: &impl Fn(&LineHeader<'_>) -> bool) -> Parsed {
    let glance = raw.bytes.as_deref().and_then(|bytes| serde_json::from_slice::<LineHeader<'_>>(bytes).ok());
    match glance {
        Some(glance) if glance.v == VERSION && !wants(&glance) => Ok(None),
        _ => parse(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_lines_come_in_order_and_invalid_lines_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let line =
            |id: &str, run: &str| format!(r#"{{"v":1,"id":"{id}","run":"{run}","payload":{{}}}}"#) + "\n";
        let segments = [
            ("2026-02-03T000000000Z-aaaaaaaa.jsonl", line("1", "r") + "{broken\n" + &line("2", "other")),
            ("2026-02-03T010000000Z-aaaaaaaa.jsonl", line("3", "r") + "\n{\"v\":9}\n"),
            (
                "2026-02-03T020000000Z-aaaaaaaa.jsonl",
                line("4", "\\u0072") + "{\"v\":1,\"id\":\"5\",\"run\":\"r",
            ),
        ];
        for (name, text) in &segments {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let wants = |glance: &LineHeader<'_>| glance.run.as_deref() == Some("r");
        let (ids, problems) =
            filter_parallel(dir.path(), &Parts::default(), Range::default(), wants, |line| line.recorded.id)
                .unwrap();
        assert_eq!(ids, ["1", "3", "4"]);
        let mut all = Reader::open(dir.path(), Range::default()).unwrap();
        assert_eq!(all.by_ref().count(), 4);
        assert_eq!((problems.count, all.into_problems().count), (2, 2), "the last line is being written");
        let none =
            filter_parallel(&dir.path().join("none"), &Parts::default(), Range::default(), wants, |_| ())
                .unwrap();
        assert!(none.0.is_empty() && none.1.is_empty());
    }
}
