//! The report of a run: who did what and when, at what cost, and what went wrong. A [`Report`] is
//! made of a run's recorded data, and `report --format json` prints it. Unknown values are `None`.

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
mod unfinished;
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
pub use unfinished::{TaskEnd, UnfinishedTask};
pub use work::{TimePerAgent, ToolUser, Tools, Work};

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::{Attribution, FileHistory, file_histories};
use crate::timeline::{RunData, Timeline, project};
use incidents::Scene;
use input::ReportInput;
use overview::Parts;
use spending::Spending;
use teamkeep_config::Config;
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
            unfinished: unfinished::unfinished(&tasks, &incidents, case.is_over()),
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
