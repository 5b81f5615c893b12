//! The rows that are shipped: the tables with their columns, and the rows of an event, a run or a machine.
//!
//! A column has a type, a description and the function that takes its value from a row. A row is a line of JSON, the same
//! everywhere: in an object, in a file, in a log record, and in `--dry-run --json`.

use std::io::{self, Write};

use serde::Serialize;
use teamkeep_model::time::Timestamp;
use teamkeep_system::error::Result;

/// A table: its name, the meaning of a row, and for each column the type, the name, the meaning and the value.
macro_rules! table {
    ($table:literal, $about:literal, |$row:ident: &$R:ty| { $($kind:ident $name:literal $meaning:literal = $value:expr;)* }) => {
        $crate::rows::Table {
            name: $table,
            row: $about,
            columns: vec![$($crate::rows::Column {
                name: $name,
                about: $meaning,
                get: $crate::rows::Get::$kind(|$row: &$R| { let _ = $row; $value }),
            }),*],
        }
    };
}

/// A table whose rows are about a run, or about a part of it.
macro_rules! run_table {
    ($table:literal, $about:literal, |$row:ident: &$R:ty| { $($columns:tt)* }) => {
        table!($table, $about, |$row: &$R| {
            Text "run" "ID of the run" = Some(&$row.key.run);
            Integer "revision" "end of the run in milliseconds since 1970: a run that is resumed ends again" = Some($row.key.revision);
            Text "team" "name of the team; null for a session without one" = $row.key.team.as_deref();
            $($columns)*
        })
    };
}

mod events;
mod runs;
mod work;

pub use events::{EventRow, events};
pub use runs::{HostRow, Row, RunFacts, RunKey, RunRow, day, hosts, runs};
pub use work::{
    AgentFacts, AgentRow, ClientCall, IncidentFacts, IncidentRow, MessageFacts, MessageRow, TaskFacts,
    TaskRow, ToolFacts, ToolRow, TurnFacts, TurnRow, UsageRow, VerdictFacts, VerdictRow, agents, incidents,
    messages, tasks, tools, turns, usage, verdicts,
};

/// The version of the columns. Within a version they are only added.
pub const VERSION: u32 = 1;

/// A table of rows `R`.
#[derive(Debug, Clone)]
pub struct Table<R> {
    pub name: &'static str,
    /// The meaning of a row.
    pub row: &'static str,
    pub columns: Vec<Column<R>>,
}

#[derive(Debug, Clone)]
pub struct Column<R> {
    pub name: &'static str,
    pub about: &'static str,
    pub get: Get<R>,
}

/// How a column takes its value from a row. `None` is null, which is left out.
#[derive(Debug, Clone)]
pub enum Get<R> {
    Text(fn(&R) -> Option<&str>),
    Integer(fn(&R) -> Option<i64>),
    Float(fn(&R) -> Option<f64>),
    Flag(fn(&R) -> Option<bool>),
    Time(fn(&R) -> Option<Timestamp>),
    Texts(fn(&R) -> &[String]),
}

/// A table as the documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub name: &'static str,
    pub row: &'static str,
    /// Name, type and meaning of each column.
    pub columns: Vec<[&'static str; 3]>,
}

impl<R> Column<R> {
    /// Writes `,"name":value`, or nothing for null.
    fn write(&self, row: &R, line: &mut Vec<u8>) -> io::Result<()> {
        match self.get {
            Get::Text(get) => self.write_value(get(row), line),
            Get::Integer(get) => self.write_value(get(row), line),
            Get::Float(get) => self.write_value(get(row).filter(|value| value.is_finite()), line),
            Get::Flag(get) => self.write_value(get(row), line),
            Get::Time(get) => self.write_value(get(row).filter(|time| time.is_valid()), line),
            Get::Texts(get) => self.write_value(Some(get(row)), line),
        }
    }

    fn write_value(&self, value: Option<impl Serialize>, line: &mut Vec<u8>) -> io::Result<()> {
        let Some(value) = value else { return Ok(()) };
        write!(line, ",\"{}\":", self.name)?;
        Ok(serde_json::to_writer(line, &value)?)
    }
}

impl<R> Get<R> {
    /// The type's name in the documentation.
    fn type_name(&self) -> &'static str {
        match self {
            Get::Text(_) => "string",
            Get::Integer(_) => "int64",
            Get::Float(_) => "double",
            Get::Flag(_) => "boolean",
            Get::Time(_) => "timestamp",
            Get::Texts(_) => "list of strings",
        }
    }
}

impl<R> Table<R> {
    pub fn description(&self) -> Description {
        let columns = self.columns.iter().map(|column| [column.name, column.get.type_name(), column.about]);
        Description { name: self.name, row: self.row, columns: columns.collect() }
    }
}

/// A consumer of rows.
pub trait RowSink {
    /// Takes rows of a table. `day` is the value of their column.
    fn table<R>(&mut self, table: &Table<R>, day: &str, rows: impl Iterator<Item = R>) -> Result<()>;
}

/// The columns that every row begins with, after the table's name.
#[derive(Debug)]
pub struct Common(Vec<u8>);

impl Common {
    pub const COLUMNS: [[&'static str; 3]; 7] = [
        ["table", "string", "name of the table"],
        ["v", "int64", "1; within a version, columns are only added"],
        ["org", "string", "organization"],
        ["host", "string", "name of the machine, or a pseudonym"],
        ["store", "string", "ID of the store: two machines with one name have two"],
        ["shipped_at", "timestamp", "time of the shipment"],
        [
            "day",
            "string",
            "day on which the run started; in `events` that of the event, in `hosts` that of the shipment (UTC)",
        ],
    ];

    pub fn new(organization: &str, host: &str, store: &str, shipped_at: Timestamp) -> io::Result<Common> {
        let mut bytes = Vec::new();
        write!(bytes, ",\"v\":{VERSION}")?;
        for (name, value) in [("org", organization), ("host", host), ("store", store)] {
            write!(bytes, ",\"{name}\":{}", serde_json::to_string(value)?)?;
        }
        write!(bytes, ",\"shipped_at\":{}", serde_json::to_string(&shipped_at)?)?;
        Ok(Common(bytes))
    }

    /// Appends a row and a line break.
    pub fn write_row<R>(&self, table: &Table<R>, day: &str, row: &R, lines: &mut Vec<u8>) -> io::Result<()> {
        write!(lines, "{{\"table\":\"{}\"", table.name)?;
        lines.extend_from_slice(&self.0);
        write!(lines, ",\"day\":\"{day}\"")?;
        for column in &table.columns {
            column.write(row, lines)?;
        }
        lines.extend_from_slice(b"}\n");
        Ok(())
    }
}

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
