//! The verdict on a run: how it ended, its title, and one sentence.

use serde::{Deserialize, Serialize};
use teamkeep_model::words::{count, dollars};

use super::Report;
use super::incidents::{IncidentKind, Severity};
use super::input::ReportInput;
use super::tasks::TaskHistory;
use crate::timeline::{Entry, Kind};
use teamkeep_model::TaskStatus;
use teamkeep_model::time::duration;
use teamkeep_store::metadata_only;

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
    match line.char_indices().nth(MAX_TITLE_CHARS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
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
