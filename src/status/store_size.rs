//! The size of the recorded data.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::timeline::RunCatalog;
use teamkeep_core::store::log;
use teamkeep_core::sys::fs;

/// A smaller log is counted line by line, in bytes.
const MAX_COUNTED_BYTES: u64 = 16 << 20;
/// Number of bytes of each segment from which the length of a line is estimated.
const SAMPLE_BYTES: u64 = 64 << 10;
/// Time limit for counting the bytes of the store.
const TIMEOUT: Duration = Duration::from_millis(150);

/// Runs, events and bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// Readable runs, including sessions without a team.
    pub runs: usize,
    pub events: u64,
    /// Whether the events were counted; otherwise their number is an estimate.
    pub events_counted: bool,
    pub bytes: u64,
    /// Whether all files were counted in time; otherwise there are more bytes.
    pub bytes_counted: bool,
}

impl StoreStats {
    pub(super) fn count(catalog: &RunCatalog, log: &Path) -> StoreStats {
        let (events, events_counted) = events(log);
        let until = Instant::now() + TIMEOUT;
        let mut bytes = log::size(log);
        let mut sizes = catalog.runs.iter().map(|run| {
            bytes += catalog.archive.run_size(&run.run);
            Instant::now() < until
        });
        let bytes_counted = sizes.all(|is_in_time| is_in_time);
        StoreStats { runs: catalog.runs.len(), events, events_counted, bytes, bytes_counted }
    }
}

/// The number of lines of the log, and whether they were counted.
fn events(dir: &Path) -> (u64, bool) {
    let segments = log::list(dir).unwrap_or_default();
    let size: u64 = segments.iter().map(|segment| segment.size).sum();
    let is_counted = size <= MAX_COUNTED_BYTES;
    let max_bytes = if is_counted { MAX_COUNTED_BYTES } else { SAMPLE_BYTES };
    let (mut read, mut lines) = (0u64, 0u64);
    for segment in &segments {
        let bytes = fs::read_prefix(&segment.path(dir), max_bytes).unwrap_or_default();
        read += bytes.len() as u64;
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    let estimate = u128::from(lines) * u128::from(size) / u128::from(read.max(1));
    (if is_counted { lines } else { u64::try_from(estimate).unwrap_or(u64::MAX) }, is_counted)
}
