//! How much data a run has, so that the memory for opening it is bounded.

use std::path::Path;

use teamkeep::timeline::RunCatalog;
use teamkeep_core::error::Result;
use teamkeep_core::store::archive::RunRecord;

/// A run with more data is not opened: it would take more than 256 MiB of memory.
pub const MAX_RUN_BYTES: u64 = 512 << 20;

/// The size of the transcripts and journals of a run, and the weight of its events, in bytes.
pub fn run_size(catalog: &RunCatalog, run: &RunRecord) -> Result<u64> {
    let size = |path: &Path| path.symlink_metadata().map_or(0, |metadata| metadata.len());
    let dir = catalog.archive.run_dir(&run.run);
    let files = dir.and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten().flatten();
    // Events count by their weight.
    let files = files.filter(|file| !file.file_name().as_encoded_bytes().starts_with(b"events"));
    let transcripts = catalog.archive.longest_transcripts(run);
    let transcripts = transcripts
        .iter()
        .map(|(path, kept)| kept.as_ref().map_or_else(|| size(Path::new(path)), |kept| kept.size));
    let events = catalog.weigh_events(&[run])?.into_values();
    Ok(files.map(|file| size(&file.path())).chain(transcripts).chain(events).fold(0, u64::saturating_add))
}
