//! The tables `runs` and `hosts`, and what all tables about runs have in common.

use super::Table;
use teamkeep_history::report::Report;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::spending::AS_OF;

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
    run_table!("runs", "a run that has ended", |row: &RunRow<'a>| {
        Time "time" "start of the run" = Some(row.report().overview.started_at);
        Time "ended_at" "end of the run" = row.report().overview.ended_at;
        Integer "duration_ms" "from the first to the last recorded moment" = row.report().overview.duration_ms;
        Text "ended_by" "how it ended: `session-end`, `team-delete`, `replaced`, `crashed`, `disappeared`"
            = row.report().overview.ended_by.as_deref();
        Text "outcome" "`completed`, `open-work` or `crashed`" = Some(row.outcome());
        Text "session" "session of the lead" = row.report().overview.lead_session.as_deref();
        Text "user_name" "the user who recorded it, or a pseudonym" = row.item.user;
        Text "project" "name of the project's directory, or a pseudonym" = row.item.project.as_deref();
        Text "client_version" "versions of Claude Code"
            = Some(row.item.versions.as_str()).filter(|versions| !versions.is_empty());
        Text "title" "start of the first prompt; only with `redacted` and `full`"
            = Some(row.report().verdict.title.as_str()).filter(|title| !title.is_empty());
        Integer "members" "number of agents that were in the team" = count(row.report().overview.count.members);
        Integer "messages" "messages that agents sent, without automatic notices"
            = count(row.report().overview.count.messages);
        Integer "automatic_messages" "notices that Claude Code sent" = count(row.report().overview.count.automatic);
        Integer "refused_messages" "messages that were not sent" = count(row.report().overview.count.refused);
        Integer "tasks" "tasks, without deleted ones" = count(row.report().overview.count.tasks);
        Integer "completed_tasks" "completed tasks" = count(row.report().overview.count.completed);
        Integer "turns" "turns of agents" = count(row.report().overview.count.turns);
        Integer "events" "hook calls" = count(row.report().overview.count.events);
        Integer "snapshots" "recorded states of the team's files" = count(row.report().overview.count.snapshots);
        Integer "worked_ms" "sum of all agents' `working_ms`" = row.report().work.worked_ms;
        Integer "input_tokens" "without cached ones; null without transcripts"
            = row.report().spending.total.map(|tokens| clamp(tokens.input));
        Integer "output_tokens" "written by the models"
            = row.report().spending.total.map(|tokens| clamp(tokens.output));
        Integer "cache_read_tokens" "read from the prompt cache"
            = row.report().spending.total.map(|tokens| clamp(tokens.cache_read));
        Integer "cache_write_tokens" "written to the prompt cache"
            = row.report().spending.total.map(|tokens| clamp(tokens.cache_write));
        Float "cost_usd" "cost at list or configured prices in US dollars; null without transcripts, or if a model has no price"
            = row.report().spending.cost;
        Text "prices_of" "date of the built-in prices" = Some(AS_OF);
    })
}

impl<'a> RunRow<'a> {
    fn report(&self) -> &'a Report {
        self.item.report
    }

    fn outcome(&self) -> &'static str {
        use teamkeep_history::report::RunOutcome;
        match self.report().verdict.kind {
            RunOutcome::Completed => "completed",
            RunOutcome::OpenWork => "open-work",
            RunOutcome::Crashed => "crashed",
            RunOutcome::Running => "running",
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

/// The day of a time, in UTC.
pub fn day(at: Timestamp) -> String {
    at.date().to_string()
}

/// The state of a machine at a shipment, from which an administrator sees which ones are silent, broken, outdated or changed.
#[derive(Debug, Clone, Default)]
pub struct HostRow {
    pub at: Timestamp,
    pub user: Option<String>,
    pub teamkeep: Option<String>,
    pub policy: Option<String>,
    pub hooks: Vec<String>,
    pub privacy: &'static str,
    pub unreadable_bytes: u64,
    pub lost_bytes: u64,
    pub last_error: Option<String>,
    pub heads: Vec<String>,
    pub runs: usize,
    pub events: usize,
}

pub fn hosts() -> Table<HostRow> {
    table!("hosts", "a shipment of a machine; a large one has a row for each part", |row: &HostRow| {
        Time "time" "time of the shipment" = Some(row.at);
        Text "user_name" "the user who ships, or a pseudonym" = row.user.as_deref();
        Text "teamkeep_version" "version of the program that hooks run, if it is beside `teamkeep-ship`"
            = row.teamkeep.as_deref();
        Text "shipper_version" "version of `teamkeep-ship`" = Some(env!("CARGO_PKG_VERSION"));
        Text "policy" "BLAKE3 hash of the organization's file; null without one" = row.policy.as_deref();
        Texts "hooks" "events of Claude Code whose hooks call teamkeep" = &row.hooks;
        Text "privacy" "value of `ship.privacy`" = Some(row.privacy);
        Integer "unreadable_bytes" "bytes of the logs that could not be read and were not sent"
            = i64::try_from(row.unreadable_bytes).ok();
        Integer "lost_bytes" "bytes of the logs that were removed before they were sent"
            = i64::try_from(row.lost_bytes).ok();
        Text "last_error" "why an earlier shipment failed since the last one that succeeded, without what a server answered"
            = row.last_error.as_deref();
        Texts "heads" "heads of the logs of which it has lines, for `--against` in `teamkeep verify`"
            = &row.heads;
        Integer "runs" "number of runs in it" = i64::try_from(row.runs).ok();
        Integer "events" "number of events in it" = i64::try_from(row.events).ok();
    })
}
