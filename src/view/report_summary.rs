//! The report of a run on one screen: the verdict, the incidents, the unfinished tasks with their causes, the people.

use std::collections::{HashMap, HashSet};

use anstyle::Style;

use super::document::{Document, Table};
use super::line::{DIM, Line, RED, YELLOW, bold, dim, plain, styled};
use super::report::{duration, incident_cost, overview, rank};
use super::values::{count, first_line, since, thousands};
use teamkeep_history::report::{
    Incident, IncidentKind, ObservationKind, Report, Severity, TaskEnd, TaskHistory, UnfinishedTask,
};
use teamkeep_model::TaskStatus;
use teamkeep_model::words::dollars;

/// With these, the report of most runs fits into forty lines of a hundred columns.
const SHOWN_INCIDENTS: usize = 4;
const SHOWN_TASKS: usize = 6;
const SHOWN_PEOPLE: usize = 6;
/// A longer chain of tasks shows only its ends.
const SHOWN_CHAIN: usize = 4;

pub fn report_summary(report: &Report) -> Document {
    let mut document = overview(report);
    // The data that this report cannot show.
    for observation in report.observations.iter().filter(|one| is_gap(one.code)) {
        document.line(Line::from([styled(YELLOW, &observation.what)]).hanging(0));
    }
    document.section("Incidents", incidents(report));
    document.section("Unfinished", unfinished(report));
    document.section("People", people(report));
    document.blank();
    let run = &report.overview.run;
    let observed = match report.observations.len() {
        0 => String::new(),
        number => format!("{}, ", count(number, "observation")),
    };
    document.line([dim(format!(
        "{observed}messages, tasks, tools, times and tokens: teamkeep report {run} --full"
    ))]);
    document.line([dim(format!("as a page with the timeline: teamkeep report {run} --open"))]);
    document
}

/// Whether it is about missing data, and not about the team.
fn is_gap(code: ObservationKind) -> bool {
    matches!(code, ObservationKind::EventsMissing | ObservationKind::Unreadable)
}

fn severity_style(incident: &Incident) -> Style {
    match incident.severity {
        _ if incident.resolved => DIM,
        Severity::High => RED,
        Severity::Medium => YELLOW,
        Severity::Low => DIM,
    }
}

fn incidents(report: &Report) -> Document {
    let mut document = Document::default();
    // Its tasks are in the next section.
    let shown = report.incidents.iter().filter(|incident| incident.kind != IncidentKind::UnfinishedWork);
    let shown: Vec<&Incident> = shown.collect();
    if report.incidents.is_empty() {
        document.line([plain("  none found")]);
    }
    let offsets: Vec<String> =
        shown.iter().map(|incident| since(report.overview.started_at, incident.from)).collect();
    let widest = offsets.iter().take(SHOWN_INCIDENTS).map(String::len).max().unwrap_or_default();
    for (incident, when) in shown.iter().zip(&offsets).take(SHOWN_INCIDENTS) {
        let severity = styled(severity_style(incident), format!("  {}", rank(incident))).width(8);
        document.line([severity, plain(when).right(widest), plain(&incident.summary)]);
        let margin = || plain("").width(9 + widest);
        let cost = incident_cost(incident).map(|cost| format!(": {cost}")).unwrap_or_default();
        document.line([margin(), dim(format!("{}{cost}", incident.kind.name()))]);
        document.line(incident.remedy.iter().flat_map(|remedy| [margin(), bold(remedy.to_string())]));
    }
    document.and_more(shown.len().saturating_sub(SHOWN_INCIDENTS), "incidents");
    document
}

fn unfinished(report: &Report) -> Document {
    let task = |id: &str| report.tasks.iter().find(|task| task.id == id);
    let all: HashMap<&str, &UnfinishedTask> =
        report.unfinished.iter().map(|row| (row.task.as_str(), row)).collect();
    let rows = report.unfinished.iter().take(SHOWN_TASKS).map(|row| {
        let subject = task(&row.task).and_then(|task| task.subject.as_deref()).unwrap_or_default();
        let incident = report.incidents.iter().find(|one| Some(&one.id) == row.incident.as_ref());
        let incident = incident.filter(|incident| incident.kind != IncidentKind::UnfinishedWork);
        let when = incident.map(|incident| {
            format!(" ({}, {})", incident.kind.name(), since(report.overview.started_at, incident.from))
        });
        let why = format!("{}{}", cause(&all, row), when.unwrap_or_default());
        [format!("#{}", row.task), first_line(subject), why]
    });
    let mut document = Document::from(Table::of(&["task#", "subject", "why"], rows));
    document.and_more(report.unfinished.len().saturating_sub(SHOWN_TASKS), "tasks");
    document
}

/// `waited for #6 ← #2, which bob left in progress`: the chain of tasks that it waited for, and what became of the last.
fn cause(rows: &HashMap<&str, &UnfinishedTask>, row: &UnfinishedTask) -> String {
    let (mut last, mut chain, mut seen) = (row, Vec::new(), HashSet::from([row.task.as_str()]));
    let next = |row: &UnfinishedTask| rows.get(row.waits_for.as_deref()?).copied();
    while let Some(next) = next(last).filter(|next| seen.insert(&next.task)) {
        chain.push(format!("#{}", next.task));
        last = next;
    }
    let agent = last.agent.as_deref().unwrap_or("no agent");
    let (verb, rest) = match last.end {
        TaskEnd::Left => ("left", " in progress"),
        TaskEnd::Returned => ("set", " back to pending"),
        TaskEnd::InProgress => ("has", " in progress"),
        TaskEnd::NotStarted => ("did not start", ""),
        TaskEnd::Unassigned => ("took", ""),
    };
    let chain = match chain.as_slice() {
        [] => return format!("{agent} {verb} it{rest}"),
        [first, .., last] if chain.len() > SHOWN_CHAIN => format!("{first} ← … ← {last}"),
        chain => chain.join(" ← "),
    };
    format!("waited for {chain}, which {agent} {verb}{rest}")
}

fn people(report: &Report) -> Document {
    let done = |name: &str| {
        let is_done_by =
            |task: &&TaskHistory| task.status == TaskStatus::Completed && task.owner.as_deref() == Some(name);
        report.tasks.iter().filter(is_done_by).count()
    };
    let rows = report.overview.members.iter().map(|member| {
        let name = member.name.as_str();
        let time = report.work.agents.iter().find(|agent| agent.agent == name);
        let spent = report.spending.agents.iter().find(|agent| agent.agent == name);
        let caused = report
            .incidents
            .iter()
            .filter(|incident| incident.agents.first().is_some_and(|agent| agent == name))
            .count();
        [
            name.to_owned(),
            thousands(done(name)),
            duration(time.and_then(|time| time.working_ms)),
            spent.and_then(|spent| spent.cost).map(dollars).unwrap_or_default(),
            if caused > 0 { count(caused, "incident") } else { String::new() },
        ]
    });
    let mut rows: Vec<[String; 5]> = rows.collect();
    // Those who are part of an incident first, else in the order in which they joined.
    rows.sort_by_key(|row| row[4].is_empty());
    let hidden = rows.len().saturating_sub(SHOWN_PEOPLE);
    rows.truncate(SHOWN_PEOPLE);
    let mut document = Document::from(Table::of(&["agent", "done#", "worked#", "cost#", "caused"], rows));
    document.and_more(hidden, "agents");
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_the_chain_and_the_end_of_its_last_task() {
        let row = |task: &str, waits_for: &str, end, agent: &str| {
            let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            UnfinishedTask {
                task: task.to_owned(),
                waits_for: some(waits_for),
                end,
                agent: some(agent),
                incident: None,
            }
        };
        let rows = [
            row("1", "", TaskEnd::Left, "bob"),
            row("2", "1", TaskEnd::Unassigned, ""),
            row("3", "2", TaskEnd::NotStarted, "eve"),
            row("4", "3", TaskEnd::Unassigned, ""),
            row("5", "4", TaskEnd::Unassigned, ""),
            row("6", "5", TaskEnd::Unassigned, ""),
            row("7", "8", TaskEnd::NotStarted, "eve"),
            row("8", "7", TaskEnd::Returned, "ann"),
            row("9", "", TaskEnd::Unassigned, ""),
        ];
        let all: HashMap<&str, &UnfinishedTask> = rows.iter().map(|row| (row.task.as_str(), row)).collect();
        let causes: Vec<String> = rows.iter().map(|row| cause(&all, row)).collect();
        assert_eq!(causes[0], "bob left it in progress");
        assert_eq!(causes[2], "waited for #2 ← #1, which bob left in progress");
        assert_eq!(causes[5], "waited for #5 ← … ← #1, which bob left in progress");
        assert_eq!(causes[6], "waited for #8, which ann set back to pending", "they wait for each other");
        assert_eq!(causes[7], "waited for #7, which eve did not start");
        assert_eq!(causes[8], "no agent took it");
    }
}
