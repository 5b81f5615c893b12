//! The recorded runs: one per line, or one per paragraph in a narrow terminal.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::format::{count, end_label, minute, short_id, span, wrap_list};
use super::styled_line::StyledLine;
use crate::clock::{self, Time};
use crate::timeline::Summary;

/// Titles of the columns before the members.
const TITLES: [&str; 8] = ["TEAM", "RUN", "PROJECT", "CREATED", "DURATION", "ENDED BY", "TASKS", "MSGS"];

/// The column of the project.
const PROJECT: usize = 2;
/// The column of the time of creation.
const CREATED: usize = 3;
/// A value that is not known.
const UNKNOWN: &str = "-";

/// One run as shown.
struct Row {
    cells: [String; TITLES.len()],
    created: Option<Time>,
    counts: String,
    alive: bool,
    members: Vec<String>,
}

/// Lists runs, the newest last, next to the prompt. `ids` are the IDs of all recorded runs: a shortened ID must be unique.
pub fn teams(rows: &[Summary], ids: &[&str], now: Time, columns: Option<usize>) -> String {
    let mut rows: Vec<Row> = rows.iter().map(|row| Row::of(row, ids, now)).collect();
    let titles = titles(&mut rows);
    let mut out = Vec::new();
    let widths: Vec<usize> = (0..TITLES.len()).map(|place| width(&rows, &titles, place)).collect();
    let fits = |width: usize| columns.is_none_or(|columns| width <= columns);
    let whole = widths.iter().map(|width| width + 1).sum::<usize>() - 1;
    // The project is left out where it is not known, and where the terminal is too narrow for it.
    let is_left_out = rows.iter().all(|row| row.cells[PROJECT] == UNKNOWN) || !fits(whole);
    let table = if is_left_out { whole - widths[PROJECT] - 1 } else { whole };
    let is_shown = |place: usize| place != PROJECT || !is_left_out;
    let members = rows.iter().map(|row| row.members.join(", ").width()).max().unwrap_or(0).max(7);
    if !fits(table) {
        rows.iter().for_each(|row| row.paragraph(columns, &mut out));
        return String::from_utf8_lossy(&out).into_owned();
    }
    let beside = fits(table + 1 + members);
    let mut head = StyledLine::default();
    for (_, (title, width)) in titles.iter().zip(&widths).enumerate().filter(|(place, _)| is_shown(*place)) {
        head.add(Style::new().bold(), title, *width);
    }
    head.add(Style::new().bold(), if beside { "MEMBERS" } else { "" }, 0);
    let _ = head.write(&mut out, columns);
    for row in &rows {
        let mut cells = StyledLine::default();
        let cells_of_row = row.cells.iter().zip(&widths).enumerate();
        for (place, (text, width)) in cells_of_row.filter(|(place, _)| is_shown(*place)) {
            cells.add(row.style(place), text, *width);
        }
        cells.add(Style::new(), if beside { row.members.join(", ") } else { String::new() }.as_str(), 0);
        let _ = cells.write(&mut out, columns);
        if !beside {
            row.members_below(columns, &mut out);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The titles. That of the times names their zone, unless the clocks changed between the runs: then each time does.
fn titles(rows: &mut [Row]) -> [String; TITLES.len()] {
    let mut titles = TITLES.map(str::to_owned);
    let zones: BTreeSet<String> = rows.iter().filter_map(|row| row.created.map(clock::offset)).collect();
    match (zones.first(), zones.len()) {
        (Some(zone), 1) => titles[CREATED] = format!("CREATED ({zone})"),
        _ => rows.iter_mut().for_each(|row| row.cells[CREATED] = row.created()),
    }
    titles
}

fn width(rows: &[Row], titles: &[String], place: usize) -> usize {
    rows.iter().map(|row| row.cells[place].width()).max().unwrap_or(0).max(titles[place].len())
}

impl Row {
    fn of(row: &Summary, ids: &[&str], now: Time) -> Row {
        let started = clock::parse(&row.started_at);
        let created = row.created_at.as_deref().and_then(clock::parse).or(started);
        let ended = row.ended_at.as_deref().or(row.gone.as_deref()).and_then(clock::parse);
        let lasted = started.map(|started| span((ended.unwrap_or(now) - started).num_milliseconds()));
        // A value that cannot exist is not shown as zero.
        let number = |number: usize| match (number, &row.team) {
            (0, None) => "-".to_owned(),
            _ => number.to_string(),
        };
        let counts = [(row.tasks, "task"), (row.messages, "message")];
        let counts: Vec<String> = (counts.iter())
            .filter(|(number, _)| *number > 0 || row.team.is_some())
            .map(|(number, thing)| count(*number, thing))
            .collect();
        Row {
            cells: [
                row.team.clone().unwrap_or_else(|| "(no team)".to_owned()),
                short_id(&row.run, ids).to_owned(),
                row.project.as_deref().map_or(UNKNOWN, name).to_owned(),
                created.map_or_else(|| "unknown".to_owned(), minute),
                lasted.unwrap_or_else(|| "unknown".to_owned()),
                match row.events_missing_until {
                    Some(_) => format!("{}; events missing", end_label(row)),
                    None => end_label(row),
                },
                format!("{:>5}", number(row.tasks)),
                format!("{:>4}", number(row.messages)),
            ],
            created,
            counts: counts.join(", "),
            alive: row.ended_by.is_none() && row.gone.is_none(),
            members: row.members.clone(),
        }
    }

    /// The time of creation with its zone.
    fn created(&self) -> String {
        let zoned = |time| format!("{} {}", minute(time), clock::offset(time));
        self.created.map_or_else(|| "unknown".to_owned(), zoned)
    }

    fn style(&self, place: usize) -> Style {
        match place {
            0 => Style::new().bold(),
            1 => Style::new().dimmed(),
            5 if self.alive => AnsiColor::Green.on_default(),
            _ => Style::new(),
        }
    }

    fn members_below(&self, columns: Option<usize>, out: &mut Vec<u8>) {
        wrap_list(&self.members, 2, columns).iter().for_each(|line| plain(line, columns, out));
    }

    /// For a terminal that is narrower than the table.
    fn paragraph(&self, columns: Option<usize>, out: &mut Vec<u8>) {
        let [team, run, project, _, lasted, ended, ..] = &self.cells;
        let mut cells = StyledLine::default();
        cells.add(self.style(0), team, 0);
        cells.add(self.style(1), run, 0);
        let _ = cells.write(out, columns);
        let project = if project == UNKNOWN { String::new() } else { format!("{project}, ") };
        plain(&format!("  {project}{}, {lasted}", self.created()), columns, out);
        let mut cells = StyledLine::default();
        let comma = if self.counts.is_empty() { "" } else { "," };
        cells.add(self.style(5), &format!("  {ended}{comma}"), 0);
        cells.add(Style::new(), &self.counts, 0);
        let _ = cells.write(out, columns);
        self.members_below(columns, out);
    }
}

/// The last part of a directory's path.
fn name(project: &str) -> &str {
    project
        .trim_end_matches(['/', '\\'])
        .rsplit(['/', '\\'])
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(project)
}

fn plain(line: &str, columns: Option<usize>, out: &mut Vec<u8>) {
    let mut cells = StyledLine::default();
    cells.add(Style::new(), line, 0);
    let _ = cells.write(out, columns);
}
