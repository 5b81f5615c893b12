//! The lines above a timeline: the run, its times, its members and tasks.

use anstyle::Style;

use super::cells::Cells;
use super::words::{count, end_of, events_missing, listed, since};
use crate::clock;
use crate::timeline::{Material, Summary, Timeline};

/// Writes the heading.
pub fn heading(material: &Material, timeline: &Timeline, columns: Option<usize>, out: &mut Vec<u8>) {
    let summary = Summary::of(material, timeline);
    let dim = Style::new().dimmed();
    let mut cells = Cells::default();
    cells.add(Style::new().bold(), summary.team.as_deref().unwrap_or("(no team)"), 0);
    cells.add(dim, &summary.run, 0);
    let _ = cells.write(out, columns);
    lines(&times(&summary), Style::new(), columns, out);
    let team = summary.team.is_some();
    let counts = [(summary.members.len(), "member"), (summary.tasks, "task"), (summary.messages, "message")];
    let counts = counts.iter().filter(|(number, _)| team || *number > 0);
    let mut counts: Vec<String> = counts.map(|(number, thing)| count(*number, thing)).collect();
    if let Some(last) = counts.last_mut().filter(|_| !summary.members.is_empty()) {
        *last = format!("{last}; {}", summary.members[0]);
        counts.extend_from_slice(&summary.members[1..]);
    }
    lines(&counts, dim, columns, out);
    if let Some(until) = &summary.events_missing_until {
        lines(&[events_missing(&summary.started_at, until)], Style::new(), columns, out);
    }
}

/// The heading as a string.
pub fn head(material: &Material, timeline: &Timeline, columns: Option<usize>) -> String {
    let mut out = Vec::new();
    heading(material, timeline, columns, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// How a run ended, on one line.
pub fn ending(material: &Material, timeline: &Timeline) -> String {
    let summary = Summary::of(material, timeline);
    let last = summary.ended_at.as_deref().or(summary.gone.as_deref());
    let when = last.and_then(|last| since(&summary.started_at, last));
    let when = when.map(|when| format!(" (+{when})")).unwrap_or_default();
    match summary.ended_by {
        Some(_) => format!("the run has ended: {}{when}", end_of(&summary)),
        None => format!("Claude Code is gone, and no end was recorded; last event{when}"),
    }
}

/// The start, the duration and the end.
fn times(summary: &Summary) -> Vec<String> {
    let began = clock::parse(&summary.started_at).map(clock::moment);
    let last = summary.ended_at.as_deref().or(summary.gone.as_deref());
    let lasted = last.and_then(|last| since(&summary.started_at, last)).map(|span| format!("lasted {span}"));
    let end = match summary.ended_by {
        Some(_) => format!("ended by {}", end_of(summary)),
        None => end_of(summary),
    };
    began.into_iter().chain(lasted).chain([end]).collect()
}

fn lines(items: &[String], style: Style, columns: Option<usize>, out: &mut Vec<u8>) {
    for line in listed(items, 0, columns) {
        let mut cells = Cells::default();
        cells.add(style, &line, 0);
        let _ = cells.write(out, columns);
    }
}
