//! The rows that are shipped: the tables with their columns, and the rows of an event, a run or a machine.

mod column;
mod events;
mod hosts;
mod runs;
mod turns;
mod work;

pub use column::{Column, Common, Description, Get, RowSink, Table, VERSION};
pub use events::{EventRow, events};
pub use hosts::{HostRow, hosts};
pub use runs::{Row, RunFacts, RunKey, RunRow, day, runs};
pub use turns::{ClientCall, TurnFacts, TurnRow, turns};
pub use work::{
    AgentFacts, AgentRow, IncidentFacts, IncidentRow, MessageFacts, MessageRow, TaskFacts, TaskRow,
    ToolFacts, ToolRow, UsageRow, VerdictFacts, VerdictRow, agents, incidents, messages, tasks, tools, usage,
    verdicts,
};

/// All tables, in the order of the documentation.
pub fn descriptions() -> [Description; 11] {
    [
        runs().description(),
        agents().description(),
        turns().description(),
        tasks().description(),
        messages().description(),
        verdicts().description(),
        incidents().description(),
        usage().description(),
        tools().description(),
        events().description(),
        hosts().description(),
    ]
}
