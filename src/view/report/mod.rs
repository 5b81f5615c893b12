//! The report of a run for people.

mod messages;
mod tasks;

use super::document::{Document, Table};
use super::format::{count, elapsed, redaction_summary, span, thousands};
use crate::clock;
use crate::json;
use crate::report::{Agent, Finding, Phase, Report, Role, Topology};

/// Shown for unknown values.
const UNKNOWN: &str = "unknown";

/// Builds the report. `all` also lists automatic messages and Claude Code's internal agents.
pub fn report(report: &Report, all: bool) -> Document {
    let start = &report.overview.started_at;
    let mut document = head(report);
    if let Some(counts) = &report.redacted {
        document.paragraph(redaction_summary(counts));
    }
    document.section("Problems", problems(&report.findings, start));
    document.section("Phases", phases(&report.phases, start));
    document.section("Agents", agents(&report.agents, start, all));
    document.section("Messages", messages::messages(&report.mail, start, all));
    document.section("Tasks", tasks::tasks(&report.tasks, start));
    document.section("Tools", tasks::tools(&report.tools));
    document.section("Time", tasks::time(&report.work));
    document.section("Tokens", tasks::tokens(&report.spending));
    document
}

/// Milliseconds as a duration, or that it is unknown.
fn duration(millis: Option<i64>) -> String {
    millis.map_or_else(|| UNKNOWN.to_owned(), span)
}

/// A number with thousands separators, or that it is unknown.
fn number(number: Option<usize>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), thousands)
}

/// The time since the start of the run: `+1m05s`.
fn when(start: &str, at: Option<&str>) -> String {
    match at.and_then(|at| elapsed(start, at)) {
        Some(before) if before.starts_with('-') => before,
        Some(after) => format!("+{after}"),
        None => String::new(),
    }
}

fn head(report: &Report) -> Document {
    let overview = &report.overview;
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
    let counts = &overview.count;
    let mut document = Document::default();
    document.heading(format!("{} {}", overview.team.as_deref().unwrap_or("(no team)"), overview.run));
    document.paragraph(format!("{began}, lasted {}, {ended}", duration(overview.duration_ms)));
    document.paragraph(format!("{version}, {topology}"));
    document.paragraph(format!(
        "{}, {}, {} ({} completed), {}",
        count(counts.members, "member"),
        messages_sent(report),
        count(counts.tasks, "task"),
        thousands(counts.completed),
        count(counts.turns, "turn"),
    ));
    let (events, snapshots) = (count(counts.events, "event"), count(counts.snapshots, "snapshot"));
    document.paragraph(format!("recorded: {events}, {snapshots}"));
    document
}

/// The number of messages that were sent, and of all others: `13 messages (+12 automatic, 3 blocked)`.
fn messages_sent(report: &Report) -> String {
    let counts = &report.overview.count;
    let blocked = report.mail.messages.iter().filter(|message| message.is_blocked()).count();
    let others = [
        (counts.automatic, "automatic"),
        (blocked, "blocked"),
        (counts.refused.saturating_sub(blocked), "rejected"),
    ];
    let others: Vec<String> = (others.iter().filter(|(number, _)| *number > 0))
        .map(|(number, kind)| format!("{} {kind}", thousands(*number)))
        .collect();
    let plus = if counts.automatic > 0 { "+" } else { "" };
    let sent = count(counts.messages, "message");
    if others.is_empty() { sent } else { format!("{sent} ({plus}{})", others.join(", ")) }
}

/// The findings, or that there are none.
fn problems(findings: &[Finding], start: &str) -> Document {
    let mut document = Document::default();
    if findings.is_empty() {
        document.paragraph("none found");
        return document;
    }
    let mut table = Table::of(&["kind", "when#", "problem"]);
    for finding in findings {
        let code = json::serde_name(&finding.code);
        table.row([code, when(start, finding.at.as_deref()), finding.what.clone()]);
    }
    document.table(table);
    document
}

fn phases(phases: &[Phase], start: &str) -> Document {
    let mut table = Table::of(&["phase", "from#", "to#", "duration#", "entries#", ""]);
    for phase in phases {
        let (from, to) = (phase.from.as_deref(), phase.to.as_deref());
        table.row([
            json::serde_name(&phase.name),
            when(start, from),
            when(start, to),
            from.zip(to).and_then(|(from, to)| elapsed(from, to)).unwrap_or_default(),
            thousands(phase.signs),
            if phase.from.is_none() { "not observed".to_owned() } else { String::new() },
        ]);
    }
    Document::from(table)
}

/// Each agent and its instances.
fn agents(agents: &[Agent], start: &str, all: bool) -> Document {
    let mut table = Table::of(&["name", "role", "first#", "last#", "turns#", "tools#", "id"]);
    let instances = agents.iter().flat_map(|agent| agent.instances.iter().map(move |one| (agent, one)));
    let (shown, helpers): (Vec<_>, Vec<_>) =
        instances.partition(|(_, instance)| all || instance.role != Role::Helper);
    for (agent, instance) in shown {
        table.row([
            agent.name.clone(),
            json::serde_name(&instance.role).replace('-', " "),
            when(start, instance.first.as_deref()),
            when(start, instance.last.as_deref()),
            thousands(instance.turns),
            number(instance.tool_uses),
            instance.id.clone(),
        ]);
    }
    let mut document = Document::from(table);
    if !helpers.is_empty() {
        let helpers = count(helpers.len(), "helper agent");
        document.paragraph(format!("and {helpers} of Claude Code (list with --all)"));
    }
    document
}
