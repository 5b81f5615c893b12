//! The table `runs`, and the columns that all tables about runs begin with.

use teamkeep::report::Report;
use teamkeep_core::sys::clock::Timestamp;

use super::{Column, Table};

/// The identity of a run's data.
#[derive(Debug, Clone, Default)]
pub struct RunKey {
    pub run: String,
    /// The end of the run, in milliseconds since 1970. A run that is resumed ends again, and is shipped again.
    pub revision: i64,
    pub team: Option<String>,
}

/// A row about a run, or about a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a, T> {
    pub key: &'a RunKey,
    pub item: &'a T,
}

/// These columns, after the ones that every table about runs has.
pub(super) fn with_key<'a, T>(columns: Vec<Column<Row<'a, T>>>) -> Vec<Column<Row<'a, T>>> {
    let mut all = vec![
        Column::text("run", "ID of the run", |row: &Row<'a, T>| Some(&row.key.run)),
        Column::integer(
            "revision",
            "end of the run in milliseconds since 1970; the highest of a run counts",
            |row| Some(row.key.revision),
        ),
        Column::text("team", "name of the team; null for a session without one", |row| {
            row.key.team.as_deref()
        }),
    ];
    all.extend(columns);
    all
}

/// A run, with what the report does not have.
#[derive(Debug)]
pub struct RunFacts<'a> {
    pub report: &'a Report,
    pub user: Option<&'a str>,
    pub project: Option<String>,
    pub versions: String,
}

pub type RunRow<'a> = Row<'a, RunFacts<'a>>;

pub fn runs<'a>() -> Table<RunRow<'a>> {
    let columns = vec![
        Column::time("time", "start of the run", |row: &RunRow<'a>| Some(row.report().overview.started_at)),
        Column::time("ended_at", "end of the run", |row| row.report().overview.ended_at),
        Column::integer("duration_ms", "from the first to the last recorded moment", |row| {
            row.report().overview.duration_ms
        }),
        Column::text(
            "ended_by",
            "how it ended: `session-end`, `team-delete`, `replaced`, `crashed`, `disappeared`",
            |row| row.report().overview.ended_by.as_deref(),
        ),
        Column::text("outcome", "`completed`, `open-work` or `crashed`", |row| Some(row.outcome())),
        Column::text("session", "session of the lead", |row| row.report().overview.lead_session.as_deref()),
        Column::text("user_name", "the user who recorded it, or a pseudonym", |row| row.item.user),
        Column::text("project", "name of the project's directory, or a pseudonym", |row| {
            row.item.project.as_deref()
        }),
        Column::text("client_version", "versions of Claude Code", |row| {
            Some(row.item.versions.as_str()).filter(|versions| !versions.is_empty())
        }),
        Column::text("title", "start of the first prompt; only with `redacted` and `full`", |row| {
            Some(row.report().verdict.title.as_str()).filter(|title| !title.is_empty())
        }),
        Column::integer("members", "number of agents that were in the team", |row| {
            count(row.report().overview.count.members)
        }),
        Column::integer("messages", "messages that agents sent, without automatic notices", |row| {
            count(row.report().overview.count.messages)
        }),
        Column::integer("automatic_messages", "notices that Claude Code sent", |row| {
            count(row.report().overview.count.automatic)
        }),
        Column::integer("refused_messages", "messages that were not sent", |row| {
            count(row.report().overview.count.refused)
        }),
        Column::integer("tasks", "tasks, without deleted ones", |row| {
            count(row.report().overview.count.tasks)
        }),
        Column::integer("completed_tasks", "completed tasks", |row| {
            count(row.report().overview.count.completed)
        }),
        Column::integer("turns", "turns of agents", |row| count(row.report().overview.count.turns)),
        Column::integer("events", "hook calls", |row| count(row.report().overview.count.events)),
        Column::integer("snapshots", "recorded states of the team's files", |row| {
            count(row.report().overview.count.snapshots)
        }),
        Column::integer("worked_ms", "sum of all agents' `working_ms`", |row| row.report().work.worked_ms),
        Column::integer("input_tokens", "without cached ones; null without transcripts", |row| {
            row.report().spending.total.map(|tokens| clamp(tokens.input))
        }),
        Column::integer("output_tokens", "written by the models", |row| {
            row.report().spending.total.map(|tokens| clamp(tokens.output))
        }),
        Column::integer("cache_read_tokens", "read from the prompt cache", |row| {
            row.report().spending.total.map(|tokens| clamp(tokens.cache_read))
        }),
        Column::integer("cache_write_tokens", "written to the prompt cache", |row| {
            row.report().spending.total.map(|tokens| clamp(tokens.cache_write))
        }),
        Column::float(
            "cost_usd",
            "cost at list or configured prices in US dollars; null without transcripts, or if a model has no price",
            |row| row.report().spending.cost,
        ),
    ];
    Table { name: "runs", row: "a run that has ended", columns: with_key(columns) }
}

impl<'a> RunRow<'a> {
    fn report(&self) -> &'a Report {
        self.item.report
    }

    fn outcome(&self) -> &'static str {
        use teamkeep::report::Outcome;
        match self.report().verdict.kind {
            Outcome::Completed => "completed",
            Outcome::OpenWork => "open-work",
            Outcome::Crashed => "crashed",
            Outcome::Running => "running",
        }
    }
}

pub(super) fn count(number: usize) -> Option<i64> {
    i64::try_from(number).ok()
}

/// The number, or the largest one of the column's type.
pub(super) fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The day on which a run started, which is the value of its partition `date`.
pub fn day(at: Timestamp) -> String {
    at.date().to_string()
}
