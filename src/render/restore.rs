//! Text output of `teamkeep restore`.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::format::{count, first_line};
use super::styled_line::StyledLine;
use crate::restore::{FilePlan, Plan, TaskWrite, Undone};

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const GREEN: Style = AnsiColor::Green.on_default();

/// Lists the tasks that are restored, and those that are not.
pub fn restored_tasks(plan: &Plan, columns: Option<usize>) -> String {
    let mut page = Page { columns, out: Vec::new() };
    page.heading(plan.team.as_deref(), &plan.run, plan.at.as_deref());
    page.line(&[(PLAIN, "into task list", 0), (BOLD, &plan.list, 0), (DIM, &plan.directory, 0)]);
    page.text(PLAIN, "");
    let width = |of: fn(&TaskWrite) -> &str| plan.tasks.iter().map(|put| of(put).width()).max().unwrap_or(0);
    let (ids, statuses) = (width(|put| &put.id), width(|put| put.status.as_str()));
    for put in &plan.tasks {
        let subject = first_line(&put.subject);
        page.line(&[
            (GREEN, "+", 0),
            (BOLD, &put.id, ids),
            (PLAIN, put.status.as_str(), statuses),
            (PLAIN, &subject, 0),
            (DIM, &past(put), 0),
        ]);
        page.links(put);
    }
    if plan.tasks.is_empty() {
        page.text(DIM, "no tasks to restore");
    }
    for left in &plan.left_out {
        let subject = left.subject.as_deref().map(first_line).unwrap_or_default();
        page.line(&[
            (DIM, "-", 0),
            (DIM, &left.task, ids),
            (PLAIN, &subject, 0),
            (DIM, &format!("({})", left.why), 0),
        ]);
    }
    let before = plan.highwatermark_before.map_or("none".to_owned(), |mark| mark.to_string());
    if !plan.tasks.is_empty() && before != plan.highwatermark_after.to_string() {
        let mark = format!("next task ID: {}", u128::from(plan.highwatermark_after) + 1);
        page.text(DIM, &mark);
    }
    for note in &plan.notes {
        page.text(PLAIN, &format!("note: {note}"));
    }
    page.done()
}

/// The recorded state of a task.
fn past(put: &TaskWrite) -> String {
    let mut was = Vec::new();
    if put.was != put.id {
        was.push(put.was.clone());
    }
    match &put.was_status {
        Some(status) if *status != put.status => was.push(status.to_string()),
        _ => {}
    }
    if put.was_owner != put.owner {
        was.extend(put.was_owner.as_ref().map(|owner| format!("owner {owner}")));
    }
    let mut notes = Vec::new();
    if !was.is_empty() {
        notes.push(format!("was {}", was.join(", ")));
    }
    if put.told_only {
        notes.push("its file was not recorded".to_owned());
    }
    if notes.is_empty() { String::new() } else { format!("({})", notes.join("; ")) }
}

/// Lists the files that are restored, and those that are not.
pub fn restored_files(plan: &FilePlan, columns: Option<usize>) -> String {
    let mut page = Page { columns, out: Vec::new() };
    page.heading(plan.team.as_deref(), &plan.run, plan.at.as_deref());
    let files = count(plan.files.len(), "file");
    page.line(&[(PLAIN, &files, 0), (PLAIN, "in", 0), (BOLD, &plan.directory, 0)]);
    page.text(PLAIN, "");
    for file in &plan.files {
        let remark = match (file.torn, file.gathered) {
            (true, _) => "(incomplete JSON: recorded during a write)",
            (_, true) => "(merged from all snapshots)",
            _ => "",
        };
        page.line(&[(GREEN, "+", 0), (PLAIN, &file.path, 0), (DIM, remark, 0)]);
    }
    for left in &plan.left_out {
        page.line(&[(DIM, "-", 0), (PLAIN, &left.path, 0), (DIM, &format!("({})", left.why), 0)]);
    }
    page.done()
}

/// Lists the undone changes.
pub fn undone(undone: &Undone, columns: Option<usize>) -> String {
    let mut page = Page { columns, out: Vec::new() };
    page.line(&[(PLAIN, "task list", 0), (BOLD, &undone.list, 0)]);
    let tasks = |ids: &[String]| format!("{}: {}", count(ids.len(), "task"), ids.join(", "));
    for (ids, what) in [
        (&undone.removed, "removed"),
        (&undone.kept, "kept (changed since)"),
        (&undone.gone, "already deleted"),
    ] {
        if !ids.is_empty() {
            page.line(&[(PLAIN, what, 0), (PLAIN, &tasks(ids), 0)]);
        }
    }
    let mark = if undone.highwatermark_restored { "restored" } else { "unchanged" };
    page.line(&[(DIM, "next task ID:", 0), (DIM, mark, 0)]);
    page.done()
}

/// The output under construction.
struct Page {
    columns: Option<usize>,
    out: Vec<u8>,
}

impl Page {
    fn line(&mut self, pieces: &[(Style, &str, usize)]) {
        let mut cells = StyledLine::default();
        for (style, text, width) in pieces {
            cells.add(*style, text, *width);
        }
        let _ = cells.write(&mut self.out, self.columns);
    }

    fn text(&mut self, style: Style, text: &str) {
        self.line(&[(style, text, 0)]);
    }

    fn heading(&mut self, team: Option<&str>, run: &str, at: Option<&str>) {
        self.line(&[(BOLD, team.unwrap_or("(no team)"), 0), (DIM, run, 0)]);
        let when = at
            .map_or("last recorded state".to_owned(), |at| format!("as of {}", crate::clock::moment_of(at)));
        self.text(PLAIN, &when);
    }

    /// The dependencies of a task, kept and dropped.
    fn links(&mut self, put: &TaskWrite) {
        if !put.blocked_by.is_empty() {
            self.text(DIM, &format!("    depends on {}", put.blocked_by.join(", ")));
        }
        for dropped in &put.dropped {
            let what = if dropped.field == "blocks" { "dependent task" } else { "dependency on" };
            self.text(DIM, &format!("    {what} {} dropped ({})", dropped.task, dropped.why));
        }
    }

    fn done(self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}
