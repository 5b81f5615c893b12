//! The lines above a timeline: the run, its times, its members and tasks.

use anstyle::Style;

use super::format::{count, elapsed, end_label, events_missing, wrap_list};
use super::styled_line::StyledLine;
use crate::clock;
use crate::timeline::{RunData, Summary, Timeline};

/// Writes the heading.
pub fn heading(material: &RunData, timeline: &Timeline, columns: Option<usize>, out: &mut Vec<u8>) {
    let summary = Summary::of(material, timeline);
    let dim = Style::new().dimmed();
    let mut cells = StyledLine::default();
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
pub fn head(material: &RunData, timeline: &Timeline, columns: Option<usize>) -> String {
    let mut out = Vec::new();
    heading(material, timeline, columns, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// How a run ended, on one line.
pub fn ending(material: &RunData, timeline: &Timeline) -> String {
    let summary = Summary::of(material, timeline);
    let last = summary.ended_at.as_deref().or(summary.gone.as_deref());
    let when = last.and_then(|last| elapsed(&summary.started_at, last));
    let when = when.map(|when| format!(" (+{when})")).unwrap_or_default();
    match summary.ended_by {
        Some(_) => format!("the run has ended: {}{when}", end_label(&summary)),
        None => format!("Claude Code is gone, and no end was recorded; last event{when}"),
    }
}

/// The start, the duration and the end.
fn times(summary: &Summary) -> Vec<String> {
    let began = clock::parse(&summary.started_at).map(clock::moment);
    let last = summary.ended_at.as_deref().or(summary.gone.as_deref());
    let lasted =
        last.and_then(|last| elapsed(&summary.started_at, last)).map(|span| format!("lasted {span}"));
    let end = match summary.ended_by {
        Some(_) => format!("ended by {}", end_label(summary)),
        None => end_label(summary),
    };
    began.into_iter().chain(lasted).chain([end]).collect()
}

fn lines(items: &[String], style: Style, columns: Option<usize>, out: &mut Vec<u8>) {
    for line in wrap_list(items, 0, columns) {
        let mut cells = StyledLine::default();
        cells.add(style, &line, 0);
        let _ = cells.write(out, columns);
    }
}
