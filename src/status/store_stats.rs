//! The size of the recorded data, estimated if it is large.

use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::fs;
use crate::log;
use crate::timeline::RunCatalog;

/// A smaller log is counted line by line, in bytes.
const MAX_COUNTED_BYTES: u64 = 16 << 20;
/// Number of bytes of each segment from which the length of a line is estimated.
const SAMPLE_BYTES: u64 = 64 << 10;
/// Time limit for reading the archive's directories.
const TIMEOUT: Duration = Duration::from_millis(150);

/// Runs, events and bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// Readable runs, including sessions without a team.
    pub runs: usize,
    /// Events and verdicts: the lines of the log.
    pub events: u64,
    /// Whether the events were counted; otherwise their number is an estimate.
    pub events_counted: bool,
    /// Bytes of the log and the archive.
    pub bytes: u64,
    /// Whether all files were counted in time; otherwise there are more bytes.
    pub bytes_counted: bool,
}

impl StoreStats {
    /// Counts.
    pub fn count(library: &RunCatalog, log: &Path) -> StoreStats {
        let (events, events_counted) = events(log);
        let until = Instant::now() + TIMEOUT;
        let mut bytes = log::size(log);
        let walked = library.archive.objects.each(|stored| {
            bytes += stored.size;
            if Instant::now() < until { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
        });
        let mut bytes_counted = walked.is_ok();
        for run in &library.runs {
            bytes_counted &= Instant::now() < until;
            if !bytes_counted {
                break;
            }
            bytes += library.archive.contents_size(&run.run);
        }
        StoreStats { runs: library.runs.len(), events, events_counted, bytes, bytes_counted }
    }
}

/// The number of lines in the log, and whether they were counted.
fn events(dir: &Path) -> (u64, bool) {
    let segments = log::list(dir).unwrap_or_default();
    let all: u64 = segments.iter().map(|segment| segment.size).sum();
    let most = if all <= MAX_COUNTED_BYTES { u64::MAX } else { SAMPLE_BYTES };
    let (mut read, mut lines) = (0u64, 0u64);
    for segment in &segments {
        let Ok((bytes, count)) = count_lines(&segment.path(dir), most) else { continue };
        read += bytes;
        lines += count;
    }
    if most == u64::MAX {
        return (lines, true);
    }
    let scaled = u128::from(lines) * u128::from(all) / u128::from(read.max(1));
    (u64::try_from(scaled).unwrap_or(u64::MAX), false)
}

/// Counts the line breaks in the first bytes of a file.
fn count_lines(path: &Path, most: u64) -> io::Result<(u64, u64)> {
    let mut from = fs::open_regular(path)?.take(most);
    let mut chunk = vec![0u8; 64 << 10];
    let (mut bytes, mut lines) = (0u64, 0u64);
    loop {
        match from.read(&mut chunk)? {
            0 => return Ok((bytes, lines)),
            count => {
                bytes += count as u64;
                lines += chunk[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
            }
        }
    }
}
