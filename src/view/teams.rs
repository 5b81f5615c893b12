//! The recorded runs: one per line, or one per paragraph in a narrow terminal.

use std::collections::BTreeSet;

use anstyle::Style;

use super::document::{Column, Document, Table};
use super::format::{count, end_label, minute, short_id, span};
use super::line::{GREEN, Span, bold, dim, plain, styled};
use crate::timeline::Summary;
use teamkeep_core::sys::clock::{self, Timestamp};

/// Titles of the columns; `#` marks numbers.
const TITLES: [&str; 9] =
    ["TEAM", "RUN", "PROJECT", "CREATED", "DURATION", "ENDED BY", "TASKS#", "MSGS#", "MEMBERS"];

const PROJECT: usize = 2;
const MEMBERS: usize = 8;
const UNKNOWN: &str = "-";

/// Lists runs, the newest last, next to the prompt. `ids` are the IDs of all recorded runs: a shortened ID must be unique.
pub fn teams(runs: &[Summary], ids: &[&str], now: Timestamp, columns: Option<usize>) -> Document {
    let rows: Vec<Row<'_>> = runs.iter().map(|run| Row::of(run, ids, now)).collect();
    let zones: BTreeSet<String> = rows.iter().filter_map(|row| row.created.map(clock::offset)).collect();
    let mut titles = TITLES.map(str::to_owned);
    // The title of the times names their zone, unless the clocks changed between the runs: then each time does.
    let zone = zones.first().filter(|_| zones.len() == 1);
    titles[3].extend(zone.map(|zone| format!(" ({zone})")));
    let mut table = Table {
        columns: titles.iter().map(|title| column(title)).collect(),
        rows: rows
            .iter()
            .map(|row| row.cells(if zone.is_some() { minute } else { minute_and_zone }))
            .collect(),
        indent: 0,
    };
    let fits = |width: usize| columns.is_none_or(|columns| width <= columns);
    let width = |table: &Table, count: usize| {
        table.widths().iter().take(count).map(|width| width + 1).sum::<usize>() - 1
    };
    // The project is left out where it is not known, and where the terminal is too narrow for it.
    if runs.iter().all(|run| run.project.is_none()) || !fits(width(&table, MEMBERS)) {
        table = table.only(|place| place != PROJECT);
    }
    let mut document = Document::default();
    let members = table.columns.len() - 1;
    if !fits(width(&table, members)) {
        rows.iter().for_each(|row| row.paragraph(&mut document));
        return document;
    }
    let is_below = !fits(width(&table, members + 1));
    let mut lines = table.only(|place| place != members || !is_below).lines().into_iter();
    lines.by_ref().take(1).for_each(|titles| document.line(titles));
    for (line, run) in lines.zip(runs) {
        document.line(line);
        if is_below {
            document.list(run.members.clone(), 2, Style::new());
        }
    }
    document
}

fn column(title: &str) -> Column {
    Column { title: bold(title.trim_end_matches('#')), is_number: title.ends_with('#') }
}

struct Row<'a> {
    run: &'a Summary,
    id: &'a str,
    created: Option<Timestamp>,
    duration: String,
}

impl<'a> Row<'a> {
    fn of(run: &'a Summary, ids: &[&str], now: Timestamp) -> Row<'a> {
        let started = Some(run.started_at);
        let created = run.created_at.or(started);
        let ended = run.ended_at.or(run.gone);
        let lasted = started.map(|started| span((ended.unwrap_or(now) - started).num_milliseconds()));
        let duration = lasted.unwrap_or_else(|| "unknown".to_owned());
        Row { run, id: short_id(&run.run, ids), created, duration }
    }

    fn cells(&self, format: fn(Timestamp) -> String) -> Vec<Span> {
        let run = self.run;
        // A value that cannot exist is not shown as zero.
        let number = |number: usize| match (number, &run.team) {
            (0, None) => UNKNOWN.to_owned(),
            _ => number.to_string(),
        };
        vec![
            self.team(),
            dim(self.id),
            plain(run.project.as_deref().map_or(UNKNOWN, name)),
            plain(self.created(format)),
            plain(&self.duration),
            self.end("", ""),
            plain(number(run.tasks)),
            plain(number(run.messages)),
            plain(run.members.join(", ")),
        ]
    }

    fn team(&self) -> Span {
        bold(self.run.team.as_deref().unwrap_or("(no team)"))
    }

    /// How it ended.
    fn end(&self, indent: &str, comma: &str) -> Span {
        let is_alive = self.run.ended_by.is_none() && self.run.gone.is_none();
        let style = if is_alive { GREEN } else { Style::new() };
        let missing = if self.run.events_missing_until.is_some() { "; events missing" } else { "" };
        styled(style, format!("{indent}{}{missing}{comma}", end_label(self.run)))
    }

    fn created(&self, format: fn(Timestamp) -> String) -> String {
        self.created.map_or_else(|| "unknown".to_owned(), format)
    }

    /// For a terminal that is narrower than the table.
    fn paragraph(&self, document: &mut Document) {
        let run = self.run;
        document.line([self.team(), dim(self.id)]);
        let project =
            run.project.as_deref().map(|project| format!("{}, ", name(project))).unwrap_or_default();
        document.line([plain(format!("  {project}{}, {}", self.created(minute_and_zone), self.duration))]);
        let counts = [(run.tasks, "task"), (run.messages, "message")];
        let counts: Vec<String> = (counts.iter())
            .filter(|(number, _)| *number > 0 || run.team.is_some())
            .map(|(number, thing)| count(*number, thing))
            .collect();
        let comma = if counts.is_empty() { "" } else { "," };
        document.line([self.end("  ", comma), plain(counts.join(", "))]);
        document.list(run.members.clone(), 2, Style::new());
    }
}

fn minute_and_zone(time: Timestamp) -> String {
    format!("{} {}", minute(time), clock::offset(time))
}

fn name(project: &str) -> &str {
    let last = project.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next();
    last.filter(|name| !name.is_empty()).unwrap_or(project)
}
