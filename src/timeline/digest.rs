//! The summary of a run that is over, kept beside its record: a list of a thousand runs must not open each of them.

use serde::{Deserialize, Serialize};

use super::material::Material;
use super::summary::Summary;
use crate::archive::{Archive, RunRecord};
use crate::clock::{self, Time};

/// The file beside the run's record.
const NAME: &str = "summary.json";

/// Version of what is counted, and how.
const VERSION: u32 = 2;

/// Late events of a run are still recorded for a while after its end.
const SETTLED: chrono::TimeDelta = chrono::TimeDelta::minutes(10);

/// A summary, and what it was made of.
#[derive(Debug, Serialize, Deserialize)]
struct Digest {
    v: u32,
    run: RunRecord,
    journal: u64,
    summary: Summary,
}

/// What was kept of a run, if it still holds.
pub fn kept(archive: &Archive, run: &RunRecord) -> Option<Summary> {
    let digest: Digest = serde_json::from_slice(&archive.note(&run.run, NAME)?).ok()?;
    let holds = digest.v == VERSION && digest.run == *run && digest.journal == archive.journal_size(&run.run);
    holds.then_some(digest.summary)
}

/// Keeps a summary, if nothing will change it any more and nothing was wrong with what it was made of. That it could
/// not be kept is no harm: it is made anew then.
pub fn keep(archive: &Archive, material: &Material, summary: &Summary, now: Time) {
    let run = &material.run;
    let ended = run.ended_at.as_deref().and_then(clock::parse);
    let settled = run.finished && ended.is_some_and(|ended| now - ended > SETTLED);
    if !settled || !material.problems().is_empty() {
        return;
    }
    let journal = archive.journal_size(&run.run);
    let digest = Digest { v: VERSION, run: run.clone(), journal, summary: summary.clone() };
    if let Ok(bytes) = serde_json::to_vec(&digest) {
        let _ = archive.write_note(&run.run, NAME, &bytes);
    }
}
