//! Text output of `teamkeep show`.

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::format::{count, elapsed, first_line, name_style};
use super::styled_line::StyledLine;
use super::system_message::notice;
use crate::clock;
use crate::timeline::{Entry, Kind, RunData, State};

/// Formats a state.
pub fn state(material: &RunData, state: &State, columns: Option<usize>) -> String {
    let mut page = Page { material, state, columns, out: Vec::new() };
    let mut cells = StyledLine::default();
    cells.add(Style::new().bold(), material.run.name().unwrap_or("(no team)"), 0);
    cells.add(Style::new().dimmed(), &state.run, 0);
    page.line(cells);
    let when = match &state.at {
        Some(at) => {
            let since = elapsed(&material.run.started_at, at).unwrap_or_default();
            format!(
                "as of {} ({}{since})",
                clock::moment_of(at),
                if since.starts_with('-') { "" } else { "+" }
            )
        }
        None => "last recorded state".to_owned(),
    };
    page.text(Style::new(), &when);
    for path in &state.torn {
        page.text(Style::new().dimmed(), &format!("{path} was half-written; its previous content is shown"));
    }
    // A session without a team has no roster and no inboxes; an empty list would be misleading.
    let team = material.run.team.is_some();
    if !team && state.members.is_empty() && state.tasks.is_empty() && state.inboxes.is_empty() {
        page.text(Style::new().dimmed(), "a session without a team; `replay` shows what it did");
    }
    if team || !state.members.is_empty() {
        page.members();
    }
    page.tasks();
    if team || !state.inboxes.is_empty() {
        page.inboxes();
    }
    String::from_utf8_lossy(&page.out).into_owned()
}

/// The output under construction.
struct Page<'a> {
    material: &'a RunData,
    state: &'a State,
    columns: Option<usize>,
    out: Vec<u8>,
}

impl Page<'_> {
    fn line(&mut self, cells: StyledLine) {
        let _ = cells.write(&mut self.out, self.columns);
    }

    fn text(&mut self, style: Style, text: &str) {
        let mut cells = StyledLine::default();
        cells.add(style, text, 0);
        self.line(cells);
    }

    /// A line with a dim remark, on a line of its own if it does not fit.
    fn marked(&mut self, mut cells: StyledLine, mark: Option<String>) {
        let Some(mark) = mark else { return self.line(cells) };
        let dim = Style::new().dimmed();
        let room = self.columns.is_none_or(|columns| cells.width() + mark.width() <= columns);
        if room {
            cells.add(dim, &mark, 0);
            self.line(cells);
        } else {
            self.line(cells);
            self.text(dim, &format!("      {mark}"));
        }
    }

    /// The time since the start of the run.
    fn since(&self, at: &str) -> String {
        format!("+{}", elapsed(&self.material.run.started_at, at).unwrap_or_default())
    }

    fn members(&mut self) {
        self.line(title("Members", self.state.members.len()));
        for (name, member) in &self.state.members {
            let mut cells = StyledLine::default();
            cells.add(name_style(name), &format!("  {name}"), 14);
            let role = [text(member, "agentType"), text(member, "model")];
            let role = role.into_iter().flatten().collect::<Vec<_>>().join(", ");
            cells.add(Style::new().dimmed(), &role, 0);
            cells.add(Style::new(), &first_line(text(member, "prompt").unwrap_or_default()), 0);
            let left = self.state.gone.members.get(name).map(|at| format!("left {}", self.since(at)));
            self.marked(cells, left);
        }
    }

    fn tasks(&mut self) {
        let tasks = &self.state.tasks;
        if tasks.is_empty() && self.material.run.team.is_none() {
            return;
        }
        self.line(title("Tasks", tasks.len()));
        for (id, task) in tasks {
            let status = text(task, "status").unwrap_or("unknown");
            let style = match status {
                "completed" => AnsiColor::Green.on_default(),
                "in_progress" => AnsiColor::Blue.on_default(),
                _ => Style::new(),
            };
            let mut cells = StyledLine::default();
            cells.add(Style::new(), &format!("  {id}"), 4);
            cells.add(style, status, 12);
            let owner = text(task, "owner").unwrap_or("-");
            cells.add(name_style(owner), owner, 10);
            cells.add(Style::new(), &first_line(text(task, "subject").unwrap_or_default()), 0);
            cells.add(Style::new().dimmed(), &self.blockers(task), 0);
            let removed = self.state.gone.removals.get(id).map(|removal| self.removed(removal));
            self.marked(cells, removed);
        }
    }

    /// The dependencies that are not completed. Claude Code keeps the ids of completed tasks in `blockedBy`.
    fn blockers(&self, task: &Value) -> String {
        let ids = task.get("blockedBy").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_open = |id: &&str| {
            self.state.tasks.get(*id).is_some_and(|task| text(task, "status") != Some("completed"))
        };
        let ids: Vec<&str> = ids.iter().filter_map(Value::as_str).filter(is_open).collect();
        if ids.is_empty() { String::new() } else { format!("(blocked by {})", ids.join(", ")) }
    }

    fn removed(&self, removal: &Entry) -> String {
        let how = if removal.kind() == Kind::TaskDeleted { "deleted" } else { "erased" };
        let by = if removal.actor == "client" { "Claude Code" } else { &removal.actor };
        format!("{how} by {by} {}", self.since(&removal.at))
    }

    fn inboxes(&mut self) {
        self.line(title("Inboxes", self.state.inboxes.len()));
        if self.state.at.is_none() {
            let said =
                ["  from snapshots, may be incomplete;", "`replay` has every message"].map(str::to_owned);
            let said = said.join(if self.columns.is_some_and(|columns| columns < 60) { "\n  " } else { " " });
            said.lines().for_each(|line| self.text(Style::new().dimmed(), line));
        }
        for (owner, mail) in &self.state.inboxes {
            let mut cells = StyledLine::default();
            cells.add(name_style(owner), &format!("  {owner}"), 14);
            cells.add(Style::new(), &count(mail.len(), "message"), 0);
            self.line(cells);
            for message in mail {
                let mut cells = StyledLine::default();
                let from = text(message, "from").unwrap_or("unknown");
                cells.add(Style::new().dimmed(), "    from", 0);
                cells.add(name_style(from), from, 10);
                let whole = text(message, "text").unwrap_or_default();
                let said = || first_line(text(message, "summary").unwrap_or(whole));
                cells.add(Style::new(), &notice(whole, from, owner).unwrap_or_else(said), 0);
                self.line(cells);
            }
        }
    }
}

fn title(name: &str, number: usize) -> StyledLine {
    let mut cells = StyledLine::default();
    cells.add(Style::new().bold(), name, 0);
    cells.add(Style::new().dimmed(), &format!("({number})"), 0);
    cells
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}
