//! Groups runs so that the memory for opening them is bounded.

use teamkeep::timeline::RunCatalog;
use teamkeep_core::error::Result;
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::log::{self, Segment};

/// Runs that are opened together, because the log is read once for all of them.
const MAX_BATCH_RUNS: usize = 8;
/// The data of the runs of a batch, in bytes. A larger run is a batch of its own.
const MAX_BATCH_BYTES: u64 = 8 << 20;
/// A run with more events is not opened: it would take more than 256 MiB of memory. A team of twenty needs a day for so many.
pub const MAX_RUN_EVENTS: usize = 250_000;
/// No line of the log is shorter, in bytes. So the events of a small part of the log need not be counted.
const MIN_EVENT_BYTES: u64 = 256;

/// Runs to be opened, in groups.
#[derive(Debug, Default)]
pub struct Batches<'a> {
    pub batches: Vec<Vec<&'a RunRecord>>,
    /// The runs that have too many events, and the number.
    pub too_large: Vec<(&'a RunRecord, usize)>,
}

impl<'a> Batches<'a> {
    /// Groups runs that have at most that many events.
    pub fn of(catalog: &RunCatalog, runs: Vec<&'a RunRecord>, max_events: usize) -> Result<Batches<'a>> {
        let log = log::list(catalog.log_dir()).unwrap_or_default();
        let mut all = Batches::default();
        let mut room = 0;
        for run in runs {
            let in_log = size_in_log(&log, run);
            if in_log / MIN_EVENT_BYTES > max_events as u64 {
                let events = catalog.count_events(run)?;
                if events > max_events {
                    all.too_large.push((run, events));
                    continue;
                }
            }
            let size = size_in_archive(catalog, run).saturating_add(in_log);
            match all.batches.last_mut() {
                Some(batch) if size <= room && batch.len() < MAX_BATCH_RUNS => batch.push(run),
                _ => {
                    all.batches.push(vec![run]);
                    room = MAX_BATCH_BYTES;
                }
            }
            room = room.saturating_sub(size);
        }
        Ok(all)
    }
}

fn size_in_archive(catalog: &RunCatalog, run: &RunRecord) -> u64 {
    let dir = catalog.archive.run_dir(&run.run);
    let files = dir.and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// The part of the log that is from the time of the run, as if all segments grew evenly. It may include lines of other runs.
fn size_in_log(log: &[Segment], run: &RunRecord) -> u64 {
    let (from, to) = (run.started_at.millis(), run.ended_at.map_or(i64::MAX, |end| end.millis()));
    let begins = log.partition_point(|segment| segment.name.start() <= run.started_at).saturating_sub(1);
    let ends = log.iter().skip(1).map(|segment| segment.name.start().millis()).chain([to]);
    let own =
        log.iter().zip(ends).skip(begins).take_while(|(segment, _)| segment.name.start().millis() <= to);
    let part = |(segment, end): (&Segment, i64)| {
        let start = segment.name.start().millis();
        let overlap = (to.min(end) - from.max(start)).max(0) as f64 / (end - start).max(1) as f64;
        (segment.size as f64 * overlap.min(1.0)) as u64
    };
    own.map(part).sum()
}
