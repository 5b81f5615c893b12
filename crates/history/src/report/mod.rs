//! The report of a run: who did what and when, at what cost, and what went wrong. A [`Report`] is
//! made of a run's recorded data, and `report --format json` prints it. It has the reason why each
//! unfinished task is unfinished. Unknown values are `None`.

mod agents;
mod incidents;
mod input;
mod messages;
mod observations;
mod overview;
mod spending;
mod summary;
mod tasks;
mod turns;
mod work;

pub use agents::{Agent, Instance, Role};
pub use incidents::{Incident, IncidentCost, IncidentKind, Remedy, Severity, Step, restore_command};
pub use messages::{MessageRow, MessageStats, Pair, Sender};
pub use observations::{BlockedAction, Observation, ObservationKind};
pub use overview::{Count, Overview, Person, Phase, PhaseName, Topology};
pub use spending::{BurnRate, ModelUsage, RestUsage, SpentUntil, TaskUsage, TokenUsage};
pub use summary::{RunOutcome, RunSummary, RunVerdict};
pub use tasks::{TaskHistory, TaskUpdate};
pub use teamkeep_policy::spending::AS_OF as PRICES_AS_OF;
pub use turns::{ActivityTimes, Turn};
pub use work::{TimePerAgent, ToolUser, Tools, Work};

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::{Attribution, FileHistory, file_histories};
use crate::timeline::{RunData, Timeline, project};
use incidents::Scene;
use input::ReportInput;
use overview::Parts;
use spending::Spending;
use teamkeep_config::Config;
use teamkeep_model::TaskStatus;
use teamkeep_model::time::Timestamp;
use teamkeep_redact::Redactor;

/// The content of `teamkeep report`. The format is documented in `docs/reference/json.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub v: u8,
    #[serde(default)]
    pub verdict: RunVerdict,
    pub overview: Overview,
    pub phases: Vec<Phase>,
    pub agents: Vec<Agent>,
    pub turns: Vec<Turn>,
    pub mail: MessageStats,
    pub tasks: Vec<TaskHistory>,
    /// Why each unfinished task is unfinished.
    #[serde(default)]
    pub unfinished: Vec<UnfinishedTask>,
    pub tools: Tools,
    pub work: Work,
    pub spending: TokenUsage,
    #[serde(default)]
    pub incidents: Vec<Incident>,
    /// The files that the agents changed.
    #[serde(default)]
    pub files: Vec<FileHistory>,
    /// Everything that the policy blocked.
    #[serde(default)]
    pub blocks: Vec<BlockedAction>,
    pub observations: Vec<Observation>,
    /// Number of redacted texts by pattern; `None` without redaction.
    pub redacted: Option<BTreeMap<String, u64>>,
}

impl Report {
    /// Builds the report with the user's prices and thresholds. A running team is judged as of `now`.
    pub fn of(data: &RunData, timeline: &Timeline, config: &Config, now: Timestamp) -> Report {
        let case = ReportInput::new(data, timeline);
        let turns = turns::turns(&case);
        let mail = messages::mail(&case, incidents::millis(config.incidents.unread));
        let tasks = tasks::histories(&case);
        let spending = Spending::of(&case, &config.report.price);
        let parts = Parts { mail: &mail, tasks: &tasks, turns: &turns, spending: &spending };
        let scene = Scene::new(&case, parts, &config.incidents, now);
        let incidents = incidents::incidents(&scene);
        let mut report = Report {
            v: 1,
            verdict: RunVerdict::default(),
            overview: overview::overview(&case, parts, case.until(now)),
            phases: overview::phases(&case),
            agents: agents::agents(&case, &turns),
            observations: observations::observations(&case, &mail, &tasks, &incidents),
            blocks: observations::blocks(&case),
            work: work::work(&case, &turns, &tasks, &mail, &incidents),
            tools: work::tools(&case),
            spending: spending.usage(&case, &tasks),
            unfinished: unfinished(&tasks, &incidents, case.is_over()),
            incidents,
            files: file_histories(
                &Attribution::of(data, timeline).changes,
                project(data).as_deref().map(Path::new),
            ),
            turns,
            mail,
            tasks,
            redacted: None,
        };
        report.verdict = summary::verdict(&case, &report);
        report
    }

    pub fn redacted(&self, redactor: &Redactor) -> serde_json::Result<Report> {
        let text = serde_json::to_string(self)?;
        let report: Report = serde_json::from_str(&redactor.json(&text))?;
        Ok(Report { redacted: Some(redactor.counts()), ..report })
    }
}

/// Why a task is unfinished: the task that it waits for, and what became of it. Together these are a chain to the task that began it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedTask {
    pub task: String,
    /// The unfinished task that it waits for; `None` if it was ready or started.
    pub waits_for: Option<String>,
    pub end: TaskEnd,
    /// The agent that left it, returned it, has it, or did not start it.
    pub agent: Option<String>,
    /// The id of the incident that lost it.
    pub incident: Option<String>,
}

/// What became of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskEnd {
    /// The agent that had it in progress is gone, or stopped to work on it.
    Left,
    /// Its agent set it back to pending.
    Returned,
    /// An agent has it in progress.
    InProgress,
    /// Its owner did not start it.
    NotStarted,
    /// It has no owner.
    Unassigned,
}

/// The unfinished tasks, those of the worst incident first, and of each incident first those that waited for no other.
fn unfinished(tasks: &[TaskHistory], incidents: &[Incident], is_over: bool) -> Vec<UnfinishedTask> {
    let open: HashSet<&str> =
        tasks.iter().filter(|task| task.is_unfinished()).map(|task| task.id.as_str()).collect();
    let mut losses: HashMap<&str, usize> = HashMap::new();
    for (place, incident) in incidents.iter().enumerate().filter(|(_, one)| one.cost.tasks_lost > 0) {
        for task in &incident.tasks {
            losses.entry(task).or_insert(place);
        }
    }
    let loss = |id: &str| losses.get(id).copied();
    let row = |task: &TaskHistory| {
        // A task in progress does not wait.
        let may_wait = task.status != TaskStatus::InProgress && task.holds.is_empty();
        let blockers = task.blocked_by.iter().filter(|id| may_wait && open.contains(id.as_str()));
        // Of several blockers, the one that the same incident lost.
        let waits_for = blockers.min_by_key(|id| loss(id) != loss(&task.id)).cloned();
        let incident = loss(&task.id).map(|place| incidents[place].id.clone());
        let (end, agent) = end_of(task, is_over);
        UnfinishedTask { task: task.id.clone(), waits_for, end, agent, incident }
    };
    let mut rows: Vec<UnfinishedTask> = tasks.iter().filter(|task| task.is_unfinished()).map(row).collect();
    rows.sort_by_key(|row| (loss(&row.task).unwrap_or(usize::MAX), row.waits_for.is_some()));
    rows
}

/// What became of a task, and the agent that matters.
fn end_of(task: &TaskHistory, is_over: bool) -> (TaskEnd, Option<String>) {
    let hold = task.holds.last();
    let returned = task.changes.iter().rfind(|change| change.from == Some(TaskStatus::InProgress));
    let is_returned_by = |owner: &str| {
        returned.is_some_and(|change| change.to == Some(TaskStatus::Pending) && change.by == owner)
    };
    match (hold, &task.owner) {
        (Some(hold), _) if is_returned_by(&hold.owner) => (TaskEnd::Returned, Some(hold.owner.clone())),
        (Some(hold), _) if hold.to.is_none() && !is_over => (TaskEnd::InProgress, Some(hold.owner.clone())),
        (Some(hold), _) => (TaskEnd::Left, Some(hold.owner.clone())),
        (None, Some(owner)) if task.status == TaskStatus::InProgress => (TaskEnd::Left, Some(owner.clone())),
        (None, Some(owner)) => (TaskEnd::NotStarted, Some(owner.clone())),
        (None, None) => (TaskEnd::Unassigned, None),
    }
}
