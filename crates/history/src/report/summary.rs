//! A run in one row of `list`. The row of an ended run is stored, so that a list of a thousand runs need not open each of them.

use super::Report;
use super::incidents::{IncidentKind, Severity};
use super::input::ReportInput;
use super::tasks::TaskHistory;
use crate::timeline::{Entry, Kind, RunData, Summary, Timeline};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use teamkeep_config::Config;
use teamkeep_model::TaskStatus;
use teamkeep_model::time::{Timestamp, duration};
use teamkeep_model::words::{count, cut, dollars};
use teamkeep_store::archive::{Archive, RunRecord};
use teamkeep_store::metadata_only;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The start of the first prompt, else the tasks, the team or the run.
    pub title: String,
    pub outcome: RunOutcome,
    /// Number of completed tasks.
    pub completed: usize,
    /// Number of tasks that something lost, without those that were only open at the end.
    pub tasks_lost: usize,
    /// Incidents that are not resolved, by severity.
    pub incidents: BTreeMap<Severity, usize>,
    /// In US dollars; `None` if it is unknown.
    pub cost: Option<f64>,
    #[serde(flatten)]
    pub counts: Summary,
}

/// The cached file about a run.
const FILE_NAME: &str = "summary.json";
/// Version of what is counted, and how.
const VERSION: u32 = 6;
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
        let mut incidents = BTreeMap::new();
        for incident in report.incidents.iter().filter(|incident| !incident.resolved) {
            *incidents.entry(incident.severity).or_default() += 1;
        }
        let losses = report.incidents.iter().filter(|incident| incident.kind != IncidentKind::UnfinishedWork);
        RunSummary {
            outcome: report.verdict.kind,
            completed: report.overview.count.completed,
            tasks_lost: losses.map(|incident| incident.cost.tasks_lost).sum(),
            incidents,
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

// The verdict on a run: how it ended, its title, and one sentence.

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunVerdict {
    pub kind: RunOutcome,
    /// The start of the first prompt, else the subjects of the tasks, the team's name, or the run.
    pub title: String,
    pub sentence: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunOutcome {
    Completed,
    OpenWork,
    Crashed,
    #[default]
    Running,
}

/// Maximum length of the title.
const MAX_TITLE_CHARS: usize = 100;
/// More open tasks are only counted.
const MAX_OPEN_LISTED: usize = 6;

/// The verdict on a report that has everything else.
pub(super) fn verdict(case: &ReportInput<'_>, report: &Report) -> RunVerdict {
    let kind = match () {
        () if report.incidents.iter().any(|one| one.kind == IncidentKind::CrashedLead) => RunOutcome::Crashed,
        () if !case.is_over() => RunOutcome::Running,
        () if report.tasks.iter().any(TaskHistory::is_unfinished) => RunOutcome::OpenWork,
        () => RunOutcome::Completed,
    };
    RunVerdict { kind, title: title(case, report), sentence: sentence(report) }
}

fn title(case: &ReportInput<'_>, report: &Report) -> String {
    let overview = &report.overview;
    let starts =
        case.entries.iter().filter(|entry| entry.kind() == Kind::TurnStarted && entry.actor == case.lead);
    // In metadata-only mode, a prompt is recorded as its size.
    let mut prompts = starts.filter_map(Entry::text).filter(|text| metadata_only::byte_len(text).is_none());
    let line = prompts.find_map(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
    let subjects = report.tasks.iter().filter(|task| task.status != TaskStatus::Deleted);
    let subjects = subjects.filter_map(|task| task.subject.as_deref());
    let subjects = subjects.filter(|subject| metadata_only::byte_len(subject).is_none());
    let subjects = subjects.collect::<Vec<&str>>().join(", ");
    let subjects = Some(subjects.as_str()).filter(|subjects| !subjects.is_empty());
    let line = line.or(subjects).or(overview.team.as_deref()).unwrap_or(&overview.run);
    cut(line, MAX_TITLE_CHARS)
}

/// `149 of 150 tasks done in 4 h 54 min for $608.12, 1 open: #149; mobile was silent for 3 h 18 min with #149 in progress`.
fn sentence(report: &Report) -> String {
    let counts = &report.overview.count;
    let done = match (counts.tasks, counts.messages) {
        (0, 0) => count(counts.turns, "turn"),
        (0, messages) => count(messages, "message"),
        (tasks, _) => format!("{} of {} done", counts.completed, count(tasks, "task")),
    };
    let time = report.overview.duration_ms.map(|millis| format!(" in {}", duration(millis)));
    let cost = report.spending.cost.map(|usd| format!(" for {}", dollars(usd)));
    let open: Vec<String> =
        report.tasks.iter().filter(|task| task.is_unfinished()).map(|task| format!("#{}", task.id)).collect();
    let open = (counts.tasks > 0 && !open.is_empty()).then(|| match open.len() {
        number if number > MAX_OPEN_LISTED => format!(", {number} open"),
        number => format!(", {number} open: {}", open.join(", ")),
    });
    let worst = report.incidents.first().filter(|incident| incident.severity < Severity::Low);
    let worst = worst.map(|incident| format!("; {}", incident.summary));
    [Some(done), time, cost, open, worst].into_iter().flatten().collect()
}
