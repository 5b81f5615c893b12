//! The size of the recorded data.

use std::time::{Duration, Instant};

use serde::Serialize;

use teamkeep_history::timeline::RunCatalog;
use teamkeep_store::log::LogOwner;

/// Time limit for counting the bytes of the store.
const TIMEOUT: Duration = Duration::from_millis(150);

/// Runs, events and bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// Readable runs, including sessions without a team.
    pub runs: usize,
    /// The lines of all logs: events and verdicts.
    pub events: u64,
    /// Whether the events of all logs were counted in time; otherwise there are more.
    pub events_counted: bool,
    pub bytes: u64,
    /// Whether all files were counted in time; otherwise there are more bytes.
    pub bytes_counted: bool,
}

impl StoreStats {
    pub(super) fn count(catalog: &RunCatalog) -> StoreStats {
        let until = Instant::now() + TIMEOUT;
        let logs = catalog.logs.all().unwrap_or_default();
        let (mut events, mut bytes) = (0, 0);
        let is_in_time = logs.iter().all(|log| {
            events += log.head().map_or(0, |head| head.count);
            if matches!(log.owner, LogOwner::Session(_)) {
                let segments = log.segments().unwrap_or_default();
                bytes += segments.iter().map(|segment| segment.size).sum::<u64>();
            }
            Instant::now() < until
        });
        let mut runs = catalog.runs.iter().map(|run| {
            bytes += catalog.archive.run_size(&run.run);
            Instant::now() < until
        });
        let bytes_counted = runs.all(|is_in_time| is_in_time) && is_in_time;
        StoreStats { runs: catalog.runs.len(), events, events_counted: is_in_time, bytes, bytes_counted }
    }
}
