//! The rows of a closed segment of the event log, in one or more Parquet files.
//!
//! A file ends after a number of bytes of the segment, so the same segment always gives the same files.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::log::SegmentName;
use teamkeep_core::sys::fs;

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
        segment: &SegmentName,
        texts: &Texts,
        each: &mut impl for<'a> FnMut(&Table<EventRow<'a>>, &EventRow<'a>) -> Result<()>,
    ) -> Result<Counts> {
        let (table, mut counts) = (events(), Counts::default());
        for (number, line) in self.lines().filter(|(_, line)| *line != b"\n") {
            match EventRow::parse(line, Place { segment: segment.as_str(), number }, texts) {
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

/// Visits the rows of a segment, in order.
pub fn read(
    log: &Path,
    segment: &SegmentName,
    texts: &Texts,
    mut each: impl for<'a> FnMut(&Table<EventRow<'a>>, &EventRow<'a>) -> Result<()>,
) -> Result<Counts> {
    read_chunks(log, segment, |chunk| chunk.rows(segment, texts, &mut each))
}

/// Encodes a segment. `send` gets one file after the other, so that only one is in memory.
pub fn encode(
    log: &Path,
    segment: &SegmentName,
    texts: &Texts,
    mut send: impl FnMut(EventFile) -> Result<()>,
) -> Result<Counts> {
    let mut finish = |file: ParquetFile, part: u64| {
        let rows = file.rows;
        if rows == 0 { Ok(()) } else { send(EventFile { content: file.finish()?, rows, part }) }
    };
    let (mut file, mut part) = (ParquetFile::new(&events())?, 0);
    let counts = read_chunks(log, segment, |chunk| {
        let counts = chunk.rows(segment, texts, &mut |table, row| file.push(table, row))?;
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

fn read_chunks(
    log: &Path,
    segment: &SegmentName,
    mut each: impl FnMut(&Chunk) -> Result<Counts>,
) -> Result<Counts> {
    let path = log.join(segment.as_str());
    let failed = |error: std::io::Error| Error::caused("cannot read a segment of the log", error);
    let mut lines = BufReader::with_capacity(1 << 18, fs::open_regular(&path).map_err(failed)?);
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
    use super::*;
    use teamkeep_core::sys::clock::Timestamp;

    fn line(number: usize, size: usize) -> String {
        format!(
            r#"{{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"{number}","event":"E","payload":{{"x":"{}"}}}}"#,
            "x".repeat(size)
        )
    }

    fn segment(dir: &Path, content: &str) -> SegmentName {
        let name = SegmentName::after(None, Timestamp::from_millis(1_770_000_000_000).unwrap());
        std::fs::write(dir.join(name.as_str()), content).unwrap();
        name
    }

    #[test]
    fn every_valid_line_is_a_row_with_its_number_and_others_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("{}\nnot JSON\n\n{}\n{{\"v\":1,\"at\":", line(1, 0), line(2, 0));
        let name = segment(dir.path(), &text);
        let mut rows = Vec::new();
        let counts = read(dir.path(), &name, &Texts::Dropped, |table, row| {
            let row = table.to_json(row);
            rows.push((row["id"].as_str().unwrap().to_owned(), row["line"].as_i64().unwrap()));
            Ok(())
        });
        assert_eq!(counts.unwrap(), Counts { rows: 2, damaged: 2 });
        assert_eq!(rows, [("1".to_owned(), 1), ("2".to_owned(), 4)]);
    }

    #[test]
    fn a_large_segment_has_the_same_files_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let text: String = (0..70).map(|number| line(number, 1 << 20) + "\n").collect();
        let name = segment(dir.path(), &text);
        let files = || {
            let mut files = Vec::new();
            let send = |file: EventFile| {
                files.push((file.part, file.rows, file.content));
                Ok(())
            };
            assert_eq!(encode(dir.path(), &name, &Texts::Dropped, send).unwrap().rows, 70);
            files
        };
        let first = files();
        assert_eq!(first.iter().map(|(part, _, _)| *part).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(first.iter().map(|(_, rows, _)| rows).sum::<usize>(), 70);
        assert_eq!(first, files());
    }
}
