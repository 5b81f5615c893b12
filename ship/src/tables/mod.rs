//! The tables that are shipped as Parquet files: their columns, and the rows of an event or a run.

mod column;
mod events;
mod heads;
mod runs;
mod work;

pub use column::{Builder, Column, Description, Get, Table};
pub use events::{EventRow, Place, events};
pub use heads::{HeadRow, heads};
pub use runs::{Row, RunFacts, RunKey, RunRow, day, runs};
pub use work::{
    AgentFacts, AgentRow, IncidentFacts, IncidentRow, MessageFacts, MessageRow, TaskFacts, TaskRow,
    ToolFacts, ToolRow, UsageRow, VerdictFacts, VerdictRow, agents, incidents, messages, tasks, tools, usage,
    verdicts,
};

/// All tables, in the order of the documentation.
pub fn descriptions() -> Vec<Description> {
    vec![
        runs().description(),
        agents().description(),
        tasks().description(),
        messages().description(),
        verdicts().description(),
        incidents().description(),
        usage().description(),
        tools().description(),
        events().description(),
        heads().description(),
    ]
}
