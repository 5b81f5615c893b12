//! The sections of a report, in the order in which a person asks.

use super::page::{Block, Table};
use super::{Listing, people, trouble, work};
use crate::clock;
use crate::json;
use crate::render::words::{count, moment, since, span, taken_out};
use crate::report::{Overview, Phase, Report, Topology};

/// What stands where the record does not hold something.
pub const UNKNOWN: &str = "unknown";

/// Puts the report together.
pub fn page(report: &Report, listing: Listing) -> Vec<Block> {
    let overview = &report.overview;
    let start = &overview.started_at;
    let mut blocks = head(overview);
    if let Some(counts) = &report.redacted {
        blocks.push(Block::Line(taken_out(counts)));
    }
    let mut section = |title: &str, body: Vec<Block>| {
        if !body.is_empty() {
            blocks.push(Block::Heading(title.to_owned()));
            blocks.extend(body);
        }
    };
    section("Lost or wrong", trouble::findings(&report.findings, start));
    section("Phases", phases(&report.phases, start));
    section("Agents", people::agents(report, listing));
    section("Messages", people::mail(report, listing));
    section("Tasks", work::tasks(&report.tasks, start));
    section("Tools", work::tools(&report.tools));
    section("Time", work::time(&report.work));
    section("Tokens", work::tokens(&report.spending));
    blocks
}

/// A number of milliseconds as a span, or that it is not known.
pub fn lasted(millis: Option<i64>) -> String {
    millis.map_or_else(|| UNKNOWN.to_owned(), span)
}

/// When it was, from the beginning of the run: `+1m05s`.
pub fn when(start: &str, at: Option<&str>) -> String {
    match at.and_then(|at| since(start, at)) {
        Some(before) if before.starts_with('-') => before,
        Some(after) => format!("+{after}"),
        None => String::new(),
    }
}

fn head(overview: &Overview) -> Vec<Block> {
    let name = overview.team.as_deref().unwrap_or("(no team)");
    let began = clock::parse(&overview.started_at).map_or_else(|| UNKNOWN.to_owned(), moment);
    let ended = match (&overview.ended_by, &overview.ended_reason) {
        (Some(by), Some(reason)) => format!("ended by {by} ({reason})"),
        (Some(by), None) => format!("ended by {by}"),
        (None, _) => "no end on record".to_owned(),
    };
    let client = match overview.client_versions.as_slice() {
        [] => "client's version unknown".to_owned(),
        versions => format!("Claude Code {}", versions.join(", ")),
    };
    let topology = match overview.topology {
        Topology::InProcess => "teammates in the lead's process",
        Topology::Panes => "teammates in panes of their own",
        Topology::Mixed => "teammates in the lead's process and in panes",
        Topology::LeadAlone => "a lead without teammates",
        Topology::NoTeam => "a session without a team",
    };
    let number = &overview.count;
    let counts = [
        count(number.members, "member"),
        match number.refused {
            0 => format!("{} ({} more by the client)", count(number.messages, "message"), number.automatic),
            refused => format!(
                "{} ({} more by the client, {refused} refused)",
                count(number.messages, "message"),
                number.automatic
            ),
        },
        format!("{} ({} completed)", count(number.tasks, "task"), number.completed),
        count(number.turns, "turn"),
    ];
    vec![
        Block::Heading(format!("{name} {}", overview.run)),
        Block::Line(format!("{began} UTC, lasted {}, {ended}", lasted(overview.duration_ms))),
        Block::Line(format!("{client}, {topology}")),
        Block::Line(counts.join(", ")),
        Block::Line(format!(
            "on record: {}, {}",
            count(number.events, "event"),
            count(number.snapshots, "snapshot")
        )),
    ]
}

fn phases(phases: &[Phase], start: &str) -> Vec<Block> {
    let mut table = Table::of(&["phase", "from#", "to#", "lasted#", "signs#", ""]);
    for phase in phases {
        let (from, to) = (phase.from.as_deref(), phase.to.as_deref());
        let lasted = from.zip(to).and_then(|(from, to)| since(from, to));
        table.row([
            json::word(&phase.name),
            when(start, from),
            when(start, to),
            lasted.unwrap_or_default(),
            phase.signs.to_string(),
            if phase.from.is_none() { "not seen".to_owned() } else { String::new() },
        ]);
    }
    vec![Block::Table(table)]
}
