//! The runs on record, one a line.

use anstyle::{AnsiColor, Style};

use super::cells::Cells;
use super::words::{moment, span};
use crate::clock::{self, Time};
use crate::timeline::Summary;

/// Lists runs, the newest last: it stands next to the prompt.
pub fn teams(rows: &[Summary], now: Time, columns: Option<usize>) -> String {
    let mut out = Vec::new();
    let name = |row: &Summary| row.team.clone().unwrap_or_else(|| "(no team)".to_owned());
    let widest = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).clamp(4, 30);
    let dim = Style::new().dimmed();
    let mut head = Cells::default();
    for (title, width) in [
        ("TEAM", widest),
        ("RUN", 16),
        ("CREATED (UTC)", 19),
        ("LASTED", 8),
        ("ENDED BY", 12),
        ("TASKS", 5),
        ("MSGS", 5),
        ("MEMBERS", 0),
    ] {
        head.add(Style::new().bold(), title, width);
    }
    let _ = head.write(&mut out, columns);
    for row in rows {
        let started = clock::parse(&row.started_at);
        let created = row.created_at.as_deref().and_then(clock::parse).or(started);
        let ended = row.ended_at.as_deref().or(row.gone.as_deref()).and_then(clock::parse);
        let lasted = started.map(|started| span((ended.unwrap_or(now) - started).num_milliseconds()));
        let ended_by = row.ended_by.and_then(|by| serde_json::to_value(by).ok()?.as_str().map(str::to_owned));
        let alive = ended_by.is_none() && row.gone.is_none();
        let members: Vec<&str> = row.members.iter().map(String::as_str).collect();
        let mut cells = Cells::default();
        cells.add(Style::new().bold(), &name(row), widest);
        cells.add(dim, &row.run, 16);
        cells.add(Style::new(), &created.map(moment).unwrap_or_else(|| "unknown".to_owned()), 19);
        cells.add(Style::new(), lasted.as_deref().unwrap_or("unknown"), 8);
        let style = if alive { AnsiColor::Green.on_default() } else { Style::new() };
        cells.add(style, ended_by.as_deref().unwrap_or(if alive { "alive" } else { "client gone" }), 12);
        cells.add(Style::new(), &format!("{:>5}", row.tasks), 5);
        cells.add(Style::new(), &format!("{:>5}", row.messages), 5);
        cells.add(Style::new(), &members.join(", "), 0);
        let _ = cells.write(&mut out, columns);
    }
    String::from_utf8_lossy(&out).into_owned()
}
