//! The rows of a segment of a log.

use std::io::{self, BufRead, BufReader, Read};

use memchr::memchr;
use teamkeep_store::log::{MAX_LINE_BYTES, Segment};
use teamkeep_system::error::{Error, Result};

use crate::privacy::Texts;
use crate::rows::{EventRow, Table, events};

/// How many lines of a segment are rows, and how many are damaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: usize,
    pub damaged: usize,
}

/// Why the rows of a segment were not read to its end.
pub enum ReadError {
    /// It was removed by retention, or with its run.
    Gone(Error),
    Failed(Error),
    /// `each` failed.
    Stopped(Error),
}

/// Lines are parsed in chunks of about this size.
const CHUNK_BYTES: usize = 1 << 20;

/// Visits the rows of a segment, in order. A line that is not an event counts as damaged.
pub fn read(
    segment: &Segment,
    texts: &Texts,
    mut each: impl for<'a> FnMut(&Table<EventRow<'a>>, &EventRow<'a>) -> Result<()>,
) -> std::result::Result<Counts, ReadError> {
    let log = segment.log.to_string();
    let failed = |error: io::Error| {
        let is_gone = error.kind() == io::ErrorKind::NotFound;
        let error = Error::caused(format!("{} of {} was not sent", segment.name, segment.log), error);
        if is_gone { ReadError::Gone(error) } else { ReadError::Failed(error) }
    };
    let mut from = BufReader::with_capacity(1 << 18, segment.bytes().map_err(failed)?);
    let (mut chunk, mut counts) = (Vec::new(), Counts::default());
    while fill(&mut chunk, &mut from).map_err(failed)? {
        let table = events();
        let mut rest = chunk.as_slice();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(memchr(b'\n', rest).map_or(rest.len(), |end| end + 1));
            rest = after;
            match EventRow::parse(line, &log, texts) {
                Some(row) => {
                    counts.rows += 1;
                    each(&table, &row).map_err(ReadError::Stopped)?;
                }
                None => counts.damaged += usize::from(line != b"\n"),
            }
        }
    }
    Ok(counts)
}

/// Reads the next lines, whole ones; returns false at the end. One that is too long is cut, so it is damaged.
fn fill(chunk: &mut Vec<u8>, from: &mut impl BufRead) -> io::Result<bool> {
    chunk.clear();
    while chunk.len() < CHUNK_BYTES {
        let size = from.take(MAX_LINE_BYTES).read_until(b'\n', chunk)?;
        if size == 0 {
            break;
        }
        if size as u64 == MAX_LINE_BYTES && !chunk.ends_with(b"\n") {
            from.skip_until(b'\n')?;
            chunk.push(b'\n');
        }
    }
    Ok(!chunk.is_empty())
}
