//! The report of a run: who did what and when, at what cost, and what went wrong. Pure: from a run's recorded data to
//! a [`Report`], which `report --format json` prints. Unknown values are `None`.

mod agents;
mod cost;
mod findings;
mod input;
mod intervals;
mod issues;
mod messages;
mod overview;
mod phases;
mod tasks;
mod tools;
mod turns;
mod waiting;
mod work;

pub use agents::{Agent, Instance, Role};
pub use cost::{ModelUsage, TokenUsage};
pub use findings::{Code, Finding};
pub use messages::{MessageRow, MessageStats, Pair, Sender};
pub use overview::{Count, Overview, Person, Topology};
pub use phases::{Phase, PhaseName};
pub use tasks::{Change, TaskHistory};
pub use tools::{ToolUser, Tools};
pub use turns::Turn;
pub use work::{TimePerAgent, Work};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::Price;
use crate::redact::Redactor;
use crate::timeline::{RunData, Timeline};
use input::ReportInput;

/// The content of `teamkeep report`. The format is documented in `docs/report.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Format version: 1.
    pub v: u8,
    /// The key figures.
    pub overview: Overview,
    /// The phases of the run, in their usual order.
    pub phases: Vec<Phase>,
    /// The agents and their instances.
    pub agents: Vec<Agent>,
    /// The turns, by start.
    pub turns: Vec<Turn>,
    /// The messages.
    pub mail: MessageStats,
    /// The tasks.
    pub tasks: Vec<TaskHistory>,
    /// The tool calls.
    pub tools: Tools,
    /// The use of time.
    pub work: Work,
    /// Token usage and cost.
    pub spending: TokenUsage,
    /// The problems.
    pub findings: Vec<Finding>,
    /// Number of redacted texts by pattern; `None` without redaction.
    pub redacted: Option<BTreeMap<String, u64>>,
}

impl Report {
    /// Builds the report. `prices` are the user's.
    pub fn of(material: &RunData, timeline: &Timeline, prices: &[Price]) -> Report {
        let case = ReportInput::new(material, timeline);
        let turns = turns::turns(&case);
        let mail = messages::mail(&case);
        let tasks = tasks::lives(&case);
        let work = work::work(&case, &turns, &tasks, &mail);
        let tools = tools::tools(&case);
        let spending = cost::spending(&case, prices);
        let agents = agents::agents(&case, &turns);
        let findings = findings::findings(&case, &mail, &tasks, &turns);
        Report {
            v: 1,
            overview: overview::overview(&case, &mail, &tasks, &turns),
            phases: phases::phases(&case),
            agents,
            turns,
            mail,
            tasks,
            tools,
            work,
            spending,
            findings,
            redacted: None,
        }
    }

    /// The same with all texts redacted.
    ///
    /// # Errors
    /// A pattern removed a required value, such as a kind or a time.
    pub fn redacted(&self, redactor: &Redactor) -> serde_json::Result<Report> {
        let mut value = serde_json::to_value(self)?;
        redactor.value(&mut value);
        let report: Report = serde_json::from_value(value)?;
        Ok(Report { redacted: Some(redactor.counts()), ..report })
    }
}
