//! A run as an analysis: what was done by whom and when, what it cost, and what went wrong. Pure: from a run's
//! material to a [`Report`], which is what `report --format json` prints. What the record does not hold is `None`.

mod agents;
mod case;
mod cost;
mod findings;
mod messages;
mod overview;
mod phases;
mod spans;
mod tasks;
mod tools;
mod trouble;
mod turns;
mod work;

pub use agents::{Agent, Instance, Role};
pub use cost::{Spending, Spent};
pub use findings::{Code, Finding};
pub use messages::{Letter, Mail, Pair, Sender};
pub use overview::{Count, Overview, Person, Topology};
pub use phases::{Name, Phase};
pub use tasks::{Change, TaskLife};
pub use tools::{ToolUser, Tools};
pub use turns::Turn;
pub use work::{Effort, Work};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::Price;
use crate::redact::Redactor;
use crate::timeline::{Material, Timeline};
use case::Case;

/// What `teamkeep report` says of a run. The format is documented in `docs/report.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the format: 1.
    pub v: u8,
    /// The run in a few lines.
    pub overview: Overview,
    /// The phases of the run, in the order in which a team goes through them.
    pub phases: Vec<Phase>,
    /// Who acted, and in which lives.
    pub agents: Vec<Agent>,
    /// The turns, by when they began.
    pub turns: Vec<Turn>,
    /// What was said.
    pub mail: Mail,
    /// Each task's life.
    pub tasks: Vec<TaskLife>,
    /// Which tools were used.
    pub tools: Tools,
    /// How the time went.
    pub work: Work,
    /// What the model's messages cost.
    pub spending: Spending,
    /// What was lost or looks wrong.
    pub findings: Vec<Finding>,
    /// How much was taken out of its texts, by the name of the rule; `None` where nothing was looked for.
    pub redacted: Option<BTreeMap<String, u64>>,
}

impl Report {
    /// Draws it up. `prices` are the user's.
    pub fn of(material: &Material, timeline: &Timeline, prices: &[Price]) -> Report {
        let case = Case::new(material, timeline);
        let turns = turns::turns(&case);
        let mail = messages::mail(&case);
        let tasks = tasks::lives(&case);
        let work = work::work(&case, &turns, &tasks);
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

    /// The same with everything taken out of its texts that others are not to see.
    ///
    /// # Errors
    /// When a pattern took away what the report is made of: the name of a kind, a time.
    pub fn redacted(&self, redactor: &Redactor) -> serde_json::Result<Report> {
        let mut value = serde_json::to_value(self)?;
        redactor.value(&mut value);
        let report: Report = serde_json::from_value(value)?;
        Ok(Report { redacted: Some(redactor.counts()), ..report })
    }
}
