//! The tables that are shipped as Parquet files: their columns, and the rows of an event or a run.

mod column;
mod events;
mod runs;
mod work;

pub use crate::privacy::Texts;
pub use column::{Builder, Column, Description, Get, Table};
pub use events::{EventRow, Place, events};
pub use runs::{Row, RunFacts, RunKey, RunRow, day, runs};
pub use work::{
    AgentFacts, AgentRow, IncidentFacts, IncidentRow, MessageFacts, MessageRow, TaskFacts, TaskRow,
    ToolFacts, ToolRow, UsageRow, VerdictFacts, VerdictRow, agents, incidents, messages, tasks, tools, usage,
    verdicts,
};

/// Visits all tables, in the order of the documentation.
pub fn each_table<V: TableVisitor>(visitor: &mut V) -> Result<(), V::Error> {
    visitor.visit(&runs())?;
    visitor.visit(&agents())?;
    visitor.visit(&tasks())?;
    visitor.visit(&messages())?;
    visitor.visit(&verdicts())?;
    visitor.visit(&incidents())?;
    visitor.visit(&usage())?;
    visitor.visit(&tools())?;
    visitor.visit(&events())
}

/// The action of [`each_table`] on a table of any rows.
pub trait TableVisitor {
    type Error;

    fn visit<R>(&mut self, table: &Table<R>) -> Result<(), Self::Error>;
}
