//! The rows of a segment of a log, in one or more Parquet files.
//!
//! A file ends after a number of bytes of the segment, so the same segment always gives the same files.

use std::io::{BufRead, BufReader, Read};

use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::chain::ChainPoint;
use teamkeep_core::store::log::{Mark, Sealed, Segment};

use crate::parquet_file::ParquetFile;
use crate::privacy::Texts;
use crate::tables::{EventRow, Place, Table, events};

/// Bytes of a segment in one file.
const MAX_PART_BYTES: u64 = 32 << 20;
/// A longer line is damaged: see the reader of the log.
const MAX_LINE_BYTES: u64 = 128 << 20;

/// A Parquet file with a part of a segment's events.
#[derive(Debug, PartialEq, Eq)]
pub struct EventFile {
    pub content: Vec<u8>,
    pub rows: usize,
    /// From 0.
    pub part: u64,
}

/// How many lines of a segment are rows, and how many are damaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: usize,
    pub damaged: usize,
}

/// Lines are parsed in chunks of about this size.
const CHUNK_BYTES: usize = 1 << 20;

/// Whole lines of a segment.
#[derive(Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// The end of each line.
    ends: Vec<usize>,
    /// The position after it in the segment.
    offset: u64,
    /// Number of lines before it.
    before: i64,
}

impl Chunk {
    /// Reads the next lines; returns false at the end. A line that is too long becomes empty.
    fn fill(&mut self, from: &mut impl BufRead) -> std::io::Result<bool> {
        self.before += i64::try_from(self.ends.len()).unwrap_or_default();
        self.bytes.clear();
        self.ends.clear();
        while self.bytes.len() < CHUNK_BYTES {
            let start = self.bytes.len();
            let size = from.take(MAX_LINE_BYTES).read_until(b'\n', &mut self.bytes)? as u64;
            if size == 0 {
                break;
            }
            if size == MAX_LINE_BYTES && !self.bytes.ends_with(b"\n") {
                self.bytes.truncate(start);
                self.offset += from.skip_until(b'\n')? as u64;
            }
            self.offset += size;
            self.ends.push(self.bytes.len());
        }
        Ok(!self.ends.is_empty())
    }

    fn lines(&self) -> impl Iterator<Item = (i64, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let lines = starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end]);
        (self.before + 1..).zip(lines)
    }

    /// Visits the rows of the lines; a line that is not an event counts as damaged.
    fn rows(
        &self,
        source: &Source,
        texts: &Texts,
        each: &mut impl for<'a> FnMut(&Table<EventRow<'a>>, &EventRow<'a>) -> Result<()>,
    ) -> Result<Counts> {
        let (table, mut counts) = (events(), Counts::default());
        for (number, line) in self.lines().filter(|(_, line)| *line != b"\n") {
            let head = source.head.as_deref().filter(|_| source.ends_with(line));
            match EventRow::parse(line, Place { segment: &source.name, number, head }, texts) {
                Some(row) => {
                    counts.rows += 1;
                    each(&table, &row)?;
                }
                None => counts.damaged += 1,
            }
        }
        Ok(counts)
    }
}

/// The texts that the rows of a segment have in common.
struct Source {
    /// The log and the segment.
    name: String,
    end: Option<ChainPoint>,
    /// The end of a closed segment, as `verify --against` takes it.
    head: Option<String>,
}

impl Source {
    fn of(segment: &Segment) -> Source {
        let (log, end) = (&segment.log, segment.name.end());
        Source { name: format!("{log}/{}", segment.name), end, head: end.map(|end| format!("{log}:{end}")) }
    }

    /// Whether this is the last line.
    fn ends_with(&self, line: &[u8]) -> bool {
        let sealed = Sealed::read(line.strip_suffix(b"\n").unwrap_or(line));
        matches!(sealed, Some(Sealed { mark: Mark::Chained(link), .. }) if Some(link.point()) == self.end)
    }
}

/// Visits the rows of a segment, in order.
pub fn read(
    segment: &Segment,
    texts: &Texts,
    mut each: impl for<'a> FnMut(&Table<EventRow<'a>>, &EventRow<'a>) -> Result<()>,
) -> Result<Counts> {
    let source = Source::of(segment);
    read_chunks(segment, |chunk| chunk.rows(&source, texts, &mut each))
}

/// Encodes a segment. `send` gets one file after the other, so that only one is in memory.
pub fn encode(
    segment: &Segment,
    texts: &Texts,
    mut send: impl FnMut(EventFile) -> Result<()>,
) -> Result<Counts> {
    let mut finish = |file: ParquetFile, part: u64| {
        let rows = file.rows;
        if rows == 0 { Ok(()) } else { send(EventFile { content: file.finish()?, rows, part }) }
    };
    let (source, mut file, mut part) = (Source::of(segment), ParquetFile::new(&events())?, 0);
    let counts = read_chunks(segment, |chunk| {
        let counts = chunk.rows(&source, texts, &mut |table, row| file.push(table, row))?;
        let next = chunk.offset / MAX_PART_BYTES;
        if next > part {
            finish(std::mem::replace(&mut file, ParquetFile::new(&events())?), part)?;
            part = next;
        }
        Ok(counts)
    })?;
    finish(file, part)?;
    Ok(counts)
}

fn read_chunks(segment: &Segment, mut each: impl FnMut(&Chunk) -> Result<Counts>) -> Result<Counts> {
    let failed = |error: std::io::Error| Error::caused("cannot read a segment of the log", error);
    let mut lines = BufReader::with_capacity(1 << 18, segment.bytes().map_err(failed)?);
    let (mut chunk, mut sum) = (Chunk::default(), Counts::default());
    while chunk.fill(&mut lines).map_err(failed)? {
        let counts = each(&chunk)?;
        sum.rows += counts.rows;
        sum.damaged += counts.damaged;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use super::*;
    use teamkeep_core::store::chain::ChainHash;
    use teamkeep_core::store::log::{Appending, EventLog, Logs, SegmentName};
    use teamkeep_core::sys::clock::Timestamp;
    use teamkeep_core::sys::paths::Paths;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn line(number: usize, size: usize) -> String {
        format!(
            r#"{{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"{number}","event":"E","payload":{{"x":"{}"}}}}"#,
            "x".repeat(size)
        )
    }

    fn log(dir: &Path) -> EventLog {
        let paths = Paths { store: dir.to_owned(), config: PathBuf::new(), client: None, warning: None };
        Logs::of(&paths).run("r").unwrap()
    }

    /// A closed segment with any content.
    fn segment(dir: &Path, content: &str) -> Segment {
        let log = log(dir);
        let end = ChainPoint { count: 70, hash: ChainHash::START };
        std::fs::create_dir_all(log.dir()).unwrap();
        std::fs::write(log.dir().join(SegmentName::Closed(end).to_string()), content).unwrap();
        log.segments().unwrap().remove(0)
    }

    /// Some columns of the rows of a segment.
    fn rows(segment: &Segment) -> (Vec<[String; 4]>, Counts) {
        let mut rows = Vec::new();
        let counts = read(segment, &Texts::Dropped, |table, row| {
            let row = table.to_json(row);
            rows.push(["id", "segment", "line", "head"].map(|key| row[key].to_string().replace('"', "")));
            Ok(())
        });
        (rows, counts.unwrap())
    }

    #[test]
    fn every_valid_line_is_a_row_with_its_number_and_others_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("{}\nnot JSON\n\n{}\n{{\"v\":1,\"at\":", line(1, 0), line(2, 0));
        let (rows, counts) = rows(&segment(dir.path(), &text));
        assert_eq!(counts, Counts { rows: 2, damaged: 2 });
        let found: Vec<_> = rows.iter().map(|[id, _, line, head]| [id.as_str(), line, head]).collect();
        assert_eq!(found, [["1", "1", "null"], ["2", "4", "null"]]);
    }

    #[test]
    fn only_the_last_line_of_a_closed_segment_has_the_head() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        let append = |number| {
            let how = Appending { segment_size: 1 << 20, patience: PATIENCE, durable: false };
            log.append(line(number, 3_000).as_bytes(), Timestamp::default(), how).unwrap();
        };
        append(1);
        append(2);
        let current = log.segments().unwrap().remove(0);
        let end = log.head().unwrap();
        let row = |id: &str, segment: &SegmentName, line: &str, head: &str| {
            [id, &format!("r/{segment}"), line, head].map(str::to_owned)
        };
        let open =
            [row("1", &SegmentName::Current, "1", "null"), row("2", &SegmentName::Current, "2", "null")];
        assert_eq!(rows(&current).0, open);
        assert!(log.close(PATIENCE).unwrap());
        append(3);
        let name = SegmentName::Closed(end);
        let head = format!("r:2:{}", end.hash);
        let expected = [row("1", &name, "1", "null"), row("2", &name, "2", &head)];
        let closed = log.segments().unwrap().remove(0);
        assert_eq!(rows(&closed).0, expected);
        log.compress().unwrap();
        assert!(log.segments().unwrap()[0].is_packed);
        assert_eq!(rows(&closed).0, expected, "it was listed before it was compressed");
        assert_eq!(rows(&log.segments().unwrap()[0]).0, expected);
    }

    #[test]
    fn a_large_segment_has_the_same_files_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let text: String = (0..70).map(|number| line(number, 1 << 20) + "\n").collect();
        let segment = segment(dir.path(), &text);
        let files = || {
            let mut files = Vec::new();
            let send = |file: EventFile| {
                files.push((file.part, file.rows, file.content));
                Ok(())
            };
            assert_eq!(encode(&segment, &Texts::Dropped, send).unwrap().rows, 70);
            files
        };
        let first = files();
        assert_eq!(first.iter().map(|(part, _, _)| *part).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(first.iter().map(|(_, rows, _)| rows).sum::<usize>(), 70);
        assert_eq!(first, files());
    }
}
