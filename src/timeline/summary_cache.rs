//! The stored summary of an ended run, so that a list of a thousand runs need not open each of them.

use serde::{Deserialize, Serialize};

use super::run_data::RunData;
use super::summary::Summary;
use crate::archive::{Archive, RunRecord};
use crate::clock::{self, Time};

/// The file in the run's directory.
const NAME: &str = "summary.json";

/// Version of what is counted, and how.
const VERSION: u32 = 3;

/// Late events of a run are still recorded for a while after its end.
const SETTLE_TIME: chrono::TimeDelta = chrono::TimeDelta::minutes(10);

/// A summary, and the state of its inputs.
#[derive(Debug, Serialize, Deserialize)]
struct SummaryCache {
    v: u32,
    run: RunRecord,
    journal: u64,
    summary: Summary,
}

/// The stored summary of a run, if it is still valid.
pub fn cached(archive: &Archive, run: &RunRecord) -> Option<Summary> {
    let digest: SummaryCache = serde_json::from_slice(&archive.note(&run.run, NAME)?).ok()?;
    let holds = digest.v == VERSION && digest.run == *run && digest.journal == archive.journal_size(&run.run);
    holds.then_some(digest.summary)
}

/// Stores a summary if its inputs are complete and will not change. A failure is ignored: the summary is computed
/// again.
pub fn keep(archive: &Archive, material: &RunData, summary: &Summary, now: Time) {
    let run = &material.run;
    let ended = run.ended_at.as_deref().and_then(clock::parse);
    let settled = run.finished && ended.is_some_and(|ended| now - ended > SETTLE_TIME);
    if !settled || !material.problems().is_empty() {
        return;
    }
    let journal = archive.journal_size(&run.run);
    let digest = SummaryCache { v: VERSION, run: run.clone(), journal, summary: summary.clone() };
    if let Ok(bytes) = serde_json::to_vec(&digest) {
        let _ = archive.write_note(&run.run, NAME, &bytes);
    }
}
