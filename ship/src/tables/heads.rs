//! The table `heads`: the head of the log's hash chain at each shipment.

use super::{Column, Table};
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone)]
pub struct HeadRow {
    pub at: Timestamp,
    /// The user whose log it is. Each user of a machine has one.
    pub user: Option<String>,
    pub lines: i64,
    pub hash: String,
}

pub fn heads() -> Table<HeadRow> {
    Table {
        name: "heads",
        row: "the head of the log's hash chain when data was shipped; `lines`, a colon and `hash` are the value of `--against` in `teamkeep verify`",
        columns: vec![
            Column::time("time", "when the last line was written", |row| Some(row.at)),
            Column::text(
                "user_name",
                "the user whose log it is, or a pseudonym; each user of a host has a log",
                |row| row.user.as_deref(),
            ),
            Column::integer("lines", "number of lines in the chain", |row| Some(row.lines)),
            Column::text("hash", "hash of the last line, which depends on all lines before", |row| {
                Some(&row.hash)
            }),
        ],
    }
}
