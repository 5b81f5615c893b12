//! A run's roster, tasks and mail, for people.

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::cells::Cells;
use super::words::{count, first_line, voice};
use crate::timeline::{Material, State};

/// Shows it.
pub fn state(material: &Material, state: &State, columns: Option<usize>) -> String {
    let mut out = Vec::new();
    let dim = Style::new().dimmed();
    let mut line = |cells: Cells| {
        let _ = cells.write(&mut out, columns);
    };
    let mut cells = Cells::default();
    cells.add(Style::new().bold(), material.run.team.as_deref().unwrap_or("(no team)"), 0);
    cells.add(dim, &state.run, 0);
    let when = state
        .at
        .as_ref()
        .map_or_else(|| "as each thing was last seen".to_owned(), |at| format!("as of {at}"));
    cells.add(Style::new(), &when, 0);
    line(cells);
    line(title("Members", state.members.len()));
    for (name, member) in &state.members {
        let mut cells = Cells::default();
        cells.add(voice(name), &format!("  {name}"), 14);
        let role = [text(member, "agentType"), text(member, "model")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ");
        cells.add(dim, &role, 0);
        cells.add(Style::new(), &first_line(text(member, "prompt").unwrap_or_default()), 0);
        line(cells);
    }
    let tasks: Vec<_> = state.tasks.iter().filter(|(_, task)| !is_tracker(task)).collect();
    line(title("Tasks", tasks.len()));
    for (id, task) in tasks {
        let status = text(task, "status").unwrap_or("unknown");
        let style = match status {
            "completed" => AnsiColor::Green.on_default(),
            "in_progress" => AnsiColor::Blue.on_default(),
            _ => Style::new(),
        };
        let mut cells = Cells::default();
        cells.add(Style::new(), &format!("  {id}"), 4);
        cells.add(style, status, 12);
        let owner = text(task, "owner").unwrap_or("-");
        cells.add(voice(owner), owner, 10);
        cells.add(Style::new(), &first_line(text(task, "subject").unwrap_or_default()), 0);
        cells.add(dim, &blockers(task), 0);
        line(cells);
    }
    line(title("Inboxes", state.inboxes.len()));
    for (owner, mail) in &state.inboxes {
        let mut cells = Cells::default();
        cells.add(voice(owner), &format!("  {owner}"), 14);
        cells.add(Style::new(), &count(mail.len(), "message"), 0);
        line(cells);
        for message in mail {
            let mut cells = Cells::default();
            let from = text(message, "from").unwrap_or("unknown");
            cells.add(dim, "    from", 0);
            cells.add(voice(from), from, 10);
            let said = text(message, "summary").or_else(|| text(message, "text")).unwrap_or_default();
            cells.add(Style::new(), &first_line(said), 0);
            line(cells);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn title(name: &str, number: usize) -> Cells {
    let mut cells = Cells::default();
    cells.add(Style::new().bold(), name, 0);
    cells.add(Style::new().dimmed(), &format!("({number})"), 0);
    cells
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

fn is_tracker(task: &Value) -> bool {
    task.pointer("/metadata/_internal").and_then(Value::as_bool).unwrap_or(false)
}

fn blockers(task: &Value) -> String {
    let ids = task.get("blockedBy").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let ids: Vec<&str> = ids.iter().filter_map(Value::as_str).collect();
    if ids.is_empty() { String::new() } else { format!("(blocked by {})", ids.join(", ")) }
}
