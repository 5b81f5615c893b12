//! Groups runs so that the memory for opening them is bounded.

use std::path::Path;

use teamkeep::timeline::RunCatalog;
use teamkeep_core::error::Result;
use teamkeep_core::store::archive::RunRecord;

/// Runs that are opened together, because the log is read once for all of them.
const MAX_BATCH_RUNS: usize = 32;
/// The data of the runs of a batch, in bytes. A larger run is a batch of its own.
const MAX_BATCH_BYTES: u64 = 32 << 20;
/// A run with more data is not opened: it would take more than 256 MiB of memory.
pub const MAX_RUN_BYTES: u64 = 512 << 20;

/// Runs to be opened, in groups.
#[derive(Debug, Default)]
pub struct Batches<'a> {
    pub batches: Vec<Vec<&'a RunRecord>>,
    /// The runs that have too much data, and its size in bytes.
    pub too_large: Vec<(&'a RunRecord, u64)>,
}

impl<'a> Batches<'a> {
    /// Groups runs whose transcripts and journals, and the weight of whose events, are at most that many bytes.
    pub fn of(catalog: &RunCatalog, runs: Vec<&'a RunRecord>, most: u64) -> Result<Batches<'a>> {
        let mut all = Batches::default();
        if runs.is_empty() {
            return Ok(all);
        }
        let events = catalog.weigh_events(&runs)?;
        let mut size = 0_u64;
        for run in runs {
            let events = events.get(&run.run).copied().unwrap_or_default();
            let own = size_of_files(catalog, run).saturating_add(events);
            if own > most {
                all.too_large.push((run, own));
                continue;
            }
            size = size.saturating_add(own);
            match all.batches.last_mut() {
                Some(batch) if size <= MAX_BATCH_BYTES && batch.len() < MAX_BATCH_RUNS => batch.push(run),
                _ => {
                    all.batches.push(vec![run]);
                    size = own;
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
