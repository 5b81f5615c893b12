//! The runs on record: one a line, and in a narrow terminal one a paragraph.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::cells::Cells;
use super::words::{count, end_of, listed, minute, short, span};
use crate::clock::{self, Time};
use crate::timeline::Summary;

/// Titles of the columns before the members.
const TITLES: [&str; 7] = ["TEAM", "RUN", "CREATED (UTC)", "LASTED", "ENDED BY", "TASKS", "MSGS"];

/// One run as it is shown.
struct Row {
    cells: [String; TITLES.len()],
    counts: String,
    alive: bool,
    members: Vec<String>,
}

/// Lists runs, the newest last: it stands next to the prompt. `ids` are those of all runs on record: a short one must
/// mean no other.
pub fn teams(rows: &[Summary], ids: &[&str], now: Time, columns: Option<usize>) -> String {
    let rows: Vec<Row> = rows.iter().map(|row| Row::of(row, ids, now)).collect();
    let mut out = Vec::new();
    let widths: Vec<usize> = (0..TITLES.len()).map(|place| width(&rows, place)).collect();
    let table = widths.iter().map(|width| width + 1).sum::<usize>() - 1;
    let members = rows.iter().map(|row| row.members.join(", ").width()).max().unwrap_or(0).max(7);
    let fits = |width: usize| columns.is_none_or(|columns| width <= columns);
    if !fits(table) {
        rows.iter().for_each(|row| row.paragraph(columns, &mut out));
        return String::from_utf8_lossy(&out).into_owned();
    }
    let beside = fits(table + 1 + members);
    let mut head = Cells::default();
    for (title, width) in TITLES.iter().zip(&widths) {
        head.add(Style::new().bold(), title, *width);
    }
    head.add(Style::new().bold(), if beside { "MEMBERS" } else { "" }, 0);
    let _ = head.write(&mut out, columns);
    for row in &rows {
        let mut cells = Cells::default();
        for (place, (text, width)) in row.cells.iter().zip(&widths).enumerate() {
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

fn width(rows: &[Row], place: usize) -> usize {
    rows.iter().map(|row| row.cells[place].width()).max().unwrap_or(0).max(TITLES[place].len())
}

impl Row {
    fn of(row: &Summary, ids: &[&str], now: Time) -> Row {
        let started = clock::parse(&row.started_at);
        let created = row.created_at.as_deref().and_then(clock::parse).or(started);
        let ended = row.ended_at.as_deref().or(row.gone.as_deref()).and_then(clock::parse);
        let lasted = started.map(|started| span((ended.unwrap_or(now) - started).num_milliseconds()));
        // What cannot be there is no zero.
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
                short(&row.run, ids).to_owned(),
                created.map(minute).unwrap_or_else(|| "unknown".to_owned()),
                lasted.unwrap_or_else(|| "unknown".to_owned()),
                match row.events_missing_until {
                    Some(_) => format!("{}; events missing", end_of(row)),
                    None => end_of(row),
                },
                format!("{:>5}", number(row.tasks)),
                format!("{:>4}", number(row.messages)),
            ],
            counts: counts.join(", "),
            alive: row.ended_by.is_none() && row.gone.is_none(),
            members: row.members.clone(),
        }
    }

    fn style(&self, place: usize) -> Style {
        match place {
            0 => Style::new().bold(),
            1 => Style::new().dimmed(),
            4 if self.alive => AnsiColor::Green.on_default(),
            _ => Style::new(),
        }
    }

    fn members_below(&self, columns: Option<usize>, out: &mut Vec<u8>) {
        listed(&self.members, 2, columns).iter().for_each(|line| plain(line, columns, out));
    }

    /// For a terminal that is narrower than the table.
    fn paragraph(&self, columns: Option<usize>, out: &mut Vec<u8>) {
        let [team, run, created, lasted, ended, ..] = &self.cells;
        let mut cells = Cells::default();
        cells.add(self.style(0), team, 0);
        cells.add(self.style(1), run, 0);
        let _ = cells.write(out, columns);
        plain(&format!("  {created} UTC, {lasted}"), columns, out);
        let mut cells = Cells::default();
        let comma = if self.counts.is_empty() { "" } else { "," };
        cells.add(self.style(4), &format!("  {ended}{comma}"), 0);
        cells.add(Style::new(), &self.counts, 0);
        let _ = cells.write(out, columns);
        self.members_below(columns, out);
    }
}

fn plain(line: &str, columns: Option<usize>, out: &mut Vec<u8>) {
    let mut cells = Cells::default();
    cells.add(Style::new(), line, 0);
    let _ = cells.write(out, columns);
}
