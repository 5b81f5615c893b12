//! The ended runs that a destination does not have, and how much data they have, so that the memory for opening one is bounded.

use std::path::Path;

use teamkeep_history::timeline::RunCatalog;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::shipping::{Destination, RunDelivery, ShippingState};
use teamkeep_system::error::Result;

/// A run with more data is not opened: it would take more than 256 MiB of memory.
pub const MAX_RUN_BYTES: u64 = 512 << 20;

/// The ended runs that are to be sent to a destination, oldest first.
pub fn unsent_runs<'a>(
    catalog: &'a RunCatalog,
    state: &ShippingState,
    destination: &Destination,
) -> Vec<&'a RunRecord> {
    let is_complete = |run: &RunRecord| run.finished && !catalog.archive.is_unfinished(&run.run);
    let lacks =
        |run: &&RunRecord| state.delivery(destination, run) == RunDelivery::Unsent && is_complete(run);
    catalog.runs.iter().filter(lacks).collect()
}

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

/// Why a run is not sent, with the size of its data in bytes.
pub fn too_large_note(run: &RunRecord, size: u64) -> String {
    let (id, size, most) = (&run.run, size.div_ceil(1 << 20), MAX_RUN_BYTES >> 20);
    format!("run {id} is too large to send: its data counts as {size} MiB; the limit is {most} MiB")
}
