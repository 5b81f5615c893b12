//! A run in one row of `list`. The row of an ended run is stored, so that a list of a thousand runs need not open each of them.

use serde::{Deserialize, Serialize};

use super::Report;
use super::incidents::IncidentKind;
use super::verdict::RunOutcome;
use crate::timeline::{RunData, Summary, Timeline};
use teamkeep_config::Config;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{Archive, RunRecord};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The start of the first prompt, else the tasks, the team or the run.
    pub title: String,
    pub outcome: RunOutcome,
    /// Number of completed tasks.
    pub completed: usize,
    /// Number of tasks that something lost, without those that were only open at the end.
    pub tasks_lost: usize,
    /// In US dollars; `None` if it is unknown.
    pub cost: Option<f64>,
    #[serde(flatten)]
    pub counts: Summary,
}

/// The cached file about a run.
const FILE_NAME: &str = "summary.json";
/// Version of what is counted, and how.
const VERSION: u32 = 5;
/// Late events of a run are still recorded for a while after its end.
const GRACE_PERIOD: chrono::TimeDelta = chrono::TimeDelta::minutes(10);

#[derive(Debug, Serialize, Deserialize)]
struct SummaryCache {
    v: u32,
    run: RunRecord,
    /// The size of the journal.
    journal: u64,
    /// The user's prices and thresholds, as a hash.
    settings: String,
    summary: RunSummary,
}

impl RunSummary {
    pub fn of(data: &RunData, timeline: &Timeline, config: &Config, now: Timestamp) -> RunSummary {
        let report = Report::of(data, timeline, config, now);
        let losses = report.incidents.iter().filter(|incident| incident.kind != IncidentKind::UnfinishedWork);
        RunSummary {
            outcome: report.verdict.kind,
            completed: report.overview.count.completed,
            tasks_lost: losses.map(|incident| incident.cost.tasks_lost).sum(),
            cost: report.spending.cost,
            title: report.verdict.title,
            counts: Summary::of(data, timeline),
        }
    }

    /// The stored summary, if it is still valid.
    pub fn cached(archive: &Archive, run: &RunRecord, config: &Config) -> Option<RunSummary> {
        let cache: SummaryCache = archive.cached(&run.run, FILE_NAME)?;
        let is_valid = cache.v == VERSION
            && cache.run == *run
            && cache.journal == archive.journal_size(&run.run)
            && cache.settings == settings(config);
        is_valid.then_some(cache.summary)
    }

    /// Stores the summary if its inputs are complete and will not change. A failure is ignored: the summary is computed
    /// again.
    pub fn store(&self, archive: &Archive, data: &RunData, config: &Config, now: Timestamp) {
        let run = &data.run;
        let ended = run.ended_at;
        if !run.finished
            || ended.is_none_or(|ended| now - ended <= GRACE_PERIOD)
            || !data.problems().is_empty()
        {
            return;
        }
        let journal = archive.journal_size(&run.run);
        let (run, settings, summary) = (run.clone(), settings(config), self.clone());
        let cache = SummaryCache { v: VERSION, run, journal, settings, summary };
        archive.cache(&data.run.run, FILE_NAME, &cache);
    }
}

fn settings(config: &Config) -> String {
    let text = format!("{:?} {:?}", config.report, config.incidents);
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}
