//! The report of a run for people.

mod tasks;

use super::document::{Document, Table};
use super::format::{
    actor, count, elapsed, first_line, redaction_summary, since, span, strip_tags, thousands,
};
use crate::report::{Agent, Finding, MessageRow, MessageStats, Phase, Report, Role, Topology};
use teamkeep_core::client::json;
use teamkeep_core::sys::clock::{self, Timestamp};

/// Shown for unknown values.
const UNKNOWN: &str = "unknown";

pub fn report(report: &Report) -> Document {
    Page { report, start: report.overview.started_at, lists_all: false }.document()
}

/// The same with automatic messages and Claude Code's internal agents.
pub fn full_report(report: &Report) -> Document {
    Page { report, start: report.overview.started_at, lists_all: true }.document()
}

struct Page<'a> {
    report: &'a Report,
    start: Timestamp,
    /// Whether automatic messages and Claude Code's internal agents are listed.
    lists_all: bool,
}

impl Page<'_> {
    fn document(&self) -> Document {
        let &Page { report, start, .. } = self;
        let mut document = head(report);
        if let Some(counts) = &report.redacted {
            document.paragraph(redaction_summary(counts));
        }
        document.section("Problems", problems(&report.findings, start));
        document.section("Phases", phases(&report.phases, start));
        document.section("Agents", self.agents(&report.agents));
        document.section("Messages", self.messages(&report.mail));
        document.section("Tasks", tasks::tasks(&report.tasks, start));
        document.section("Tools", tasks::tools(&report.tools));
        document.section("Time", tasks::time(&report.work));
        document.section("Tokens", tasks::tokens(&report.spending));
        document
    }

    fn agents(&self, agents: &[Agent]) -> Document {
        let mut table = Table::of(&["name", "role", "first#", "last#", "turns#", "tools#", "id"]);
        let instances = agents.iter().flat_map(|agent| agent.instances.iter().map(move |one| (agent, one)));
        let (shown, helpers): (Vec<_>, Vec<_>) =
            instances.partition(|(_, instance)| self.lists_all || instance.role != Role::Helper);
        for (agent, instance) in shown {
            table.row([
                agent.name.clone(),
                json::serde_name(&instance.role).replace('-', " "),
                when(self.start, instance.first),
                when(self.start, instance.last),
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

    fn messages(&self, messages: &MessageStats) -> Document {
        let mut document = Document::default();
        let mut table = Table::of(&["when#", "from", "to", "kind", "chars#", "text"]);
        for message in messages.messages.iter().filter(|message| self.lists_all || !message.automatic) {
            table.row([
                when(self.start, Some(message.at)),
                actor(&message.from).to_owned(),
                recipient(&message.to),
                message.kind.clone(),
                thousands(message.chars),
                message_text(message),
            ]);
        }
        if table.rows.is_empty() {
            return document;
        }
        document.table(table);
        if messages.by_sender.is_empty() {
            return document;
        }
        let numbers = |count: usize, chars: usize| [thousands(count), thousands(chars), String::new()];
        let mut senders = Table::of(&["from", "messages#", "chars#", ""]);
        for sender in &messages.by_sender {
            senders.row([sender.from.clone()].into_iter().chain(numbers(sender.messages, sender.chars)));
        }
        document.paragraph("Messages by sender");
        document.table(senders);
        let mut pairs = Table::of(&["from", "to", "messages#", "chars#", ""]);
        for pair in &messages.by_pair {
            let names = [pair.from.clone(), recipient(&pair.to)];
            pairs.row(names.into_iter().chain(numbers(pair.messages, pair.chars)));
        }
        document.paragraph("Messages by sender and recipient");
        document.table(pairs);
        document
    }
}

fn duration(millis: Option<i64>) -> String {
    millis.map_or_else(|| UNKNOWN.to_owned(), span)
}

fn number(number: Option<usize>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), thousands)
}

/// The time since the start of the run: `+1m05s`.
fn when(start: Timestamp, at: Option<Timestamp>) -> String {
    at.map(|at| since(start, at)).unwrap_or_default()
}

fn head(report: &Report) -> Document {
    let overview = &report.overview;
    let began = Some(overview.started_at).map_or_else(|| UNKNOWN.to_owned(), clock::moment);
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
    let blocked = report.mail.messages.iter().filter(|message| message.blocked).count();
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

fn problems(findings: &[Finding], start: Timestamp) -> Document {
    let mut document = Document::default();
    if findings.is_empty() {
        document.paragraph("none found");
        return document;
    }
    let mut table = Table::of(&["kind", "when#", "problem"]);
    for finding in findings {
        let code = json::serde_name(&finding.code);
        table.row([code, when(start, finding.at), finding.what.clone()]);
    }
    document.table(table);
    document
}

fn phases(phases: &[Phase], start: Timestamp) -> Document {
    let mut table = Table::of(&["phase", "from#", "to#", "duration#", "entries#", ""]);
    for phase in phases {
        let (from, to) = (phase.from, phase.to);
        table.row([
            json::serde_name(&phase.name),
            when(start, from),
            when(start, to),
            from.zip(to).map(|(from, to)| elapsed(from, to)).unwrap_or_default(),
            thousands(phase.signs),
            if phase.from.is_none() { "not observed".to_owned() } else { String::new() },
        ]);
    }
    Document::from(table)
}

fn recipient(to: &str) -> String {
    if to == "*" { "everyone".to_owned() } else { to.to_owned() }
}

fn message_text(message: &MessageRow) -> String {
    let text = first_line(message.summary.as_deref().unwrap_or(&message.text));
    match (&message.refused, message.delivered) {
        // The policy's reason is listed among the problems.
        (Some(_), _) if message.blocked => format!("{text} (blocked)"),
        (Some(why), _) => format!("{text} (rejected: {})", first_line(strip_tags(why))),
        (None, Some(false)) => format!("{text} (never read)"),
        _ => text,
    }
}
