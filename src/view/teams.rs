//! The recorded runs, one per line.

use std::collections::BTreeSet;

use anstyle::Style;

use super::document::{Column, Document, Table};
use super::line::{GREEN, Span, bold, dim, plain, styled};
use super::values::{end_label, minute, short_id};
use crate::timeline::Summary;
use teamkeep_core::sys::clock::{self, Timestamp};

/// Titles of the columns; `#` marks numbers.
const TITLES: [&str; 9] =
    ["TEAM", "RUN", "PROJECT", "CREATED", "DURATION", "ENDED BY", "TASKS#", "MSGS#", "MEMBERS"];

const PROJECT: usize = 2;
const CREATED: usize = 3;
const MEMBERS: usize = 8;
const UNKNOWN: &str = "-";

/// Lists runs, the newest last, next to the prompt. `ids` are the IDs of all recorded runs: a shortened ID must be unique.
pub fn teams(runs: &[Summary], ids: &[&str], now: Timestamp, columns: Option<usize>) -> Document {
    let zones: BTreeSet<String> = runs.iter().map(created).map(clock::offset).collect();
    // The title of the times names their zone, unless the clocks changed between the runs: then each time does.
    let zone = zones.first().filter(|_| zones.len() == 1);
    let column = |(place, title): (usize, &str)| {
        let zone = zone.filter(|_| place == CREATED).map(|zone| format!(" ({zone})"));
        let text = format!("{}{}", title.trim_end_matches('#'), zone.unwrap_or_default());
        Column { title: bold(text), is_number: title.ends_with('#') }
    };
    let time = |time| match zone {
        Some(_) => minute(time),
        None => format!("{} {}", minute(time), clock::offset(time)),
    };
    let row = |run: &Summary| row(run, short_id(&run.run, ids), time(created(run)), now);
    let mut table = Table {
        columns: TITLES.into_iter().enumerate().map(column).collect(),
        rows: runs.iter().map(row).collect(),
        indent: 0,
    };
    let fits = |table: &Table, count: usize| {
        let width = table.widths().iter().take(count).map(|width| width + 1).sum::<usize>() - 1;
        columns.is_none_or(|columns| width <= columns)
    };
    // The project is left out where it is not known, and where the terminal is too narrow for it.
    if runs.iter().all(|run| run.project.is_none()) || !fits(&table, MEMBERS) {
        table = table.only(|place| place != PROJECT);
    }
    let members = table.columns.len() - 1;
    if !fits(&table, members) || fits(&table, members + 1) {
        return Document::from(table);
    }
    // The members are below their run.
    let mut document = Document::default();
    let mut lines = table.only(|place| place != members).lines().into_iter();
    lines.by_ref().take(1).for_each(|titles| document.line(titles));
    for (line, run) in lines.zip(runs) {
        document.line(line);
        document.list(run.members.clone(), 2, Style::new());
    }
    document
}

fn created(run: &Summary) -> Timestamp {
    run.created_at.unwrap_or(run.started_at)
}

fn row(run: &Summary, id: &str, created: String, now: Timestamp) -> Vec<Span> {
    let ended = run.ended_at.or(run.gone).unwrap_or(now);
    let is_alive = run.ended_by.is_none() && run.gone.is_none();
    let missing = if run.events_missing_until.is_some() { "; events missing" } else { "" };
    // A value that cannot exist is not shown as zero.
    let number = |number: usize| match (number, &run.team) {
        (0, None) => UNKNOWN.to_owned(),
        _ => number.to_string(),
    };
    vec![
        bold(run.team.as_deref().unwrap_or("(no team)")),
        dim(id),
        plain(run.project.as_deref().map_or(UNKNOWN, last_part)),
        plain(created),
        plain(clock::duration((ended - run.started_at).num_milliseconds())),
        styled(if is_alive { GREEN } else { Style::new() }, format!("{}{missing}", end_label(run))),
        plain(number(run.tasks)),
        plain(number(run.messages)),
        plain(run.members.join(", ")),
    ]
}

/// The last part of a path of any operating system.
fn last_part(path: &str) -> &str {
    let last = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next();
    last.filter(|name| !name.is_empty()).unwrap_or(path)
}
