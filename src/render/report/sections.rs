//! The sections of a report.

use super::page::{Block, Table};
use super::{Listing, agents, issues, tasks};
use crate::clock;
use crate::json;
use crate::render::format::{count, elapsed, redaction_summary, span, thousands};
use crate::report::{Phase, Report, Topology};

/// Shown for unknown values.
pub const UNKNOWN: &str = "unknown";

/// Builds the report.
pub fn page(report: &Report, listing: Listing) -> Vec<Block> {
    let overview = &report.overview;
    let start = &overview.started_at;
    let mut blocks = head(report);
    if let Some(counts) = &report.redacted {
        blocks.push(Block::Line(redaction_summary(counts)));
    }
    let mut section = |title: &str, body: Vec<Block>| {
        if !body.is_empty() {
            blocks.push(Block::Heading(title.to_owned()));
            blocks.extend(body);
        }
    };
    section("Problems", issues::findings(&report.findings, start));
    section("Phases", phases(&report.phases, start));
    section("Agents", agents::agents(report, listing));
    section("Messages", agents::mail(report, listing));
    section("Tasks", tasks::tasks(&report.tasks, start));
    section("Tools", tasks::tools(&report.tools));
    section("Time", tasks::time(&report.work));
    section("Tokens", tasks::tokens(&report.spending));
    blocks
}

/// Milliseconds as a duration, or that it is unknown.
pub fn duration(millis: Option<i64>) -> String {
    millis.map_or_else(|| UNKNOWN.to_owned(), span)
}

/// The time since the start of the run: `+1m05s`.
pub fn when(start: &str, at: Option<&str>) -> String {
    match at.and_then(|at| elapsed(start, at)) {
        Some(before) if before.starts_with('-') => before,
        Some(after) => format!("+{after}"),
        None => String::new(),
    }
}

fn head(report: &Report) -> Vec<Block> {
    let overview = &report.overview;
    let name = overview.team.as_deref().unwrap_or("(no team)");
    let began = clock::parse(&overview.started_at).map_or_else(|| UNKNOWN.to_owned(), clock::moment);
    let ended = match (&overview.ended_by, &overview.ended_reason) {
        (Some(by), Some(reason)) => format!("ended by {by} ({reason})"),
        (Some(by), None) => format!("ended by {by}"),
        (None, _) => "no end recorded".to_owned(),
    };
    let version = match overview.client_versions.as_slice() {
        [] => "Claude Code version unknown".to_owned(),
        versions => format!("Claude Code {}", versions.join(", ")),
    };
    let topology = match overview.topology {
        Topology::InProcess => "teammates in the lead's process",
        Topology::Panes => "teammates in separate panes",
        Topology::Mixed => "teammates in the lead's process and in separate panes",
        Topology::LeadAlone => "a lead without teammates",
        Topology::NoTeam => "a session without a team",
    };
    let number = &overview.count;
    let counts = [
        count(number.members, "member"),
        messages(report),
        format!("{} ({} completed)", count(number.tasks, "task"), thousands(number.completed as u64)),
        count(number.turns, "turn"),
    ];
    vec![
        Block::Heading(format!("{name} {}", overview.run)),
        Block::Line(format!("{began}, lasted {}, {ended}", duration(overview.duration_ms))),
        Block::Line(format!("{version}, {topology}")),
        Block::Line(counts.join(", ")),
        Block::Line(format!(
            "recorded: {}, {}",
            count(number.events, "event"),
            count(number.snapshots, "snapshot")
        )),
    ]
}

/// The number of messages that were sent, and of all others: `13 messages (+12 automatic, 3 blocked)`.
fn messages(report: &Report) -> String {
    let number = &report.overview.count;
    let blocked = report.mail.messages.iter().filter(|letter| letter.is_blocked()).count();
    let others = [
        (number.automatic, "automatic"),
        (blocked, "blocked"),
        (number.refused.saturating_sub(blocked), "rejected"),
    ];
    let others: Vec<String> = (others.iter().filter(|(number, _)| *number > 0))
        .map(|(number, kind)| format!("{} {kind}", thousands(*number as u64)))
        .collect();
    let plus = if number.automatic > 0 { "+" } else { "" };
    let sent = count(number.messages, "message");
    if others.is_empty() { sent } else { format!("{sent} ({plus}{})", others.join(", ")) }
}

fn phases(phases: &[Phase], start: &str) -> Vec<Block> {
    let mut table = Table::of(&["phase", "from#", "to#", "duration#", "entries#", ""]);
    for phase in phases {
        let (from, to) = (phase.from.as_deref(), phase.to.as_deref());
        let lasted = from.zip(to).and_then(|(from, to)| elapsed(from, to));
        table.row([
            json::serde_name(&phase.name),
            when(start, from),
            when(start, to),
            lasted.unwrap_or_default(),
            thousands(phase.signs as u64),
            if phase.from.is_none() { "not observed".to_owned() } else { String::new() },
        ]);
    }
    vec![Block::Table(table)]
}
