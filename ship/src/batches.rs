//! Groups runs so that the memory for opening them is bounded.

use std::fmt;
use std::path::Path;

use teamkeep::timeline::RunCatalog;
use teamkeep_core::error::Result;
use teamkeep_core::store::archive::RunRecord;

/// Runs that are opened together, because the log is read once for all of them.
const MAX_BATCH_RUNS: usize = 32;
/// The events of the runs of a batch. A larger run is a batch of its own.
const MAX_BATCH_EVENTS: usize = 20_000;
/// The transcripts and journals of the runs of a batch, in bytes. A larger run is a batch of its own.
const MAX_BATCH_BYTES: u64 = 32 << 20;
/// What a run can have. A larger one is not opened: it would take more than 256 MiB of memory.
pub const MAX_RUN: RunSize = RunSize { events: 250_000, bytes: 512 << 20 };

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSize {
    pub events: usize,
    /// The size of its transcripts and its journal.
    pub bytes: u64,
}

impl fmt::Display for RunSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} events and {} MiB of transcripts", self.events, self.bytes >> 20)
    }
}

/// Runs to be opened, in groups.
#[derive(Debug, Default)]
pub struct Batches<'a> {
    pub batches: Vec<Vec<&'a RunRecord>>,
    pub too_large: Vec<(&'a RunRecord, RunSize)>,
}

impl<'a> Batches<'a> {
    /// Groups runs that have at most that size.
    pub fn of(catalog: &RunCatalog, runs: Vec<&'a RunRecord>, most: RunSize) -> Result<Batches<'a>> {
        let mut all = Batches::default();
        if runs.is_empty() {
            return Ok(all);
        }
        let counts = catalog.count_events(&runs)?;
        let (mut events, mut bytes) = (0, 0);
        for run in runs {
            let own = RunSize {
                events: counts.get(&run.run).copied().unwrap_or_default(),
                bytes: size_of_files(catalog, run),
            };
            if own.events > most.events || own.bytes > most.bytes {
                all.too_large.push((run, own));
                continue;
            }
            (events, bytes) = (events + own.events, own.bytes.saturating_add(bytes));
            let fits = events <= MAX_BATCH_EVENTS && bytes <= MAX_BATCH_BYTES;
            match all.batches.last_mut() {
                Some(batch) if fits && batch.len() < MAX_BATCH_RUNS => batch.push(run),
                _ => {
                    all.batches.push(vec![run]);
                    (events, bytes) = (own.events, own.bytes);
                }
            }
        }
        Ok(all)
    }
}

fn size_of_files(catalog: &RunCatalog, run: &RunRecord) -> u64 {
    let size = |path: &Path| path.symlink_metadata().map_or(0, |metadata| metadata.len());
    let dir = catalog.archive.run_dir(&run.run);
    let files = dir.and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten().flatten();
    let transcripts = catalog.archive.longest_transcripts(run);
    let transcripts = transcripts
        .iter()
        .map(|(path, kept)| kept.as_ref().map_or_else(|| size(Path::new(path)), |kept| kept.size));
    files.map(|file| size(&file.path())).chain(transcripts).fold(0, u64::saturating_add)
}
