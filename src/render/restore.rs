//! What a restore would write, wrote and took back, for people.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::cells::Cells;
use super::words::{count, first_line};
use crate::restore::{FilePlan, Plan, Put, Undone};

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const GREEN: Style = AnsiColor::Green.on_default();

/// Shows which tasks go into the list, and which do not.
pub fn restored_tasks(plan: &Plan, columns: Option<usize>) -> String {
    let mut page = Page { columns, out: Vec::new() };
    page.heading(plan.team.as_deref(), &plan.run, plan.at.as_deref());
    page.line(&[(PLAIN, "into the list", 0), (BOLD, &plan.list, 0), (DIM, &plan.directory, 0)]);
    page.text(PLAIN, "");
    let width = |of: fn(&Put) -> &str| plan.tasks.iter().map(|put| of(put).width()).max().unwrap_or(0);
    let (ids, statuses) = (width(|put| &put.id), width(|put| &put.status));
    for put in &plan.tasks {
        let subject = first_line(&put.subject);
        page.line(&[
            (GREEN, "+", 0),
            (BOLD, &put.id, ids),
            (PLAIN, &put.status, statuses),
            (PLAIN, &subject, 0),
            (DIM, &past(put), 0),
        ]);
        page.links(put);
    }
    if plan.tasks.is_empty() {
        page.text(DIM, "no task to put back");
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
        let mark = format!("highest number: {before} → {}", plan.highwatermark_after);
        page.text(DIM, &mark);
    }
    for note in &plan.notes {
        page.text(PLAIN, &format!("note: {note}"));
    }
    page.done()
}

/// How a task was.
fn past(put: &Put) -> String {
    let mut was = Vec::new();
    if put.was != put.id {
        was.push(put.was.clone());
    }
    match put.was_status.as_deref() {
        Some(status) if status != put.status => was.push(status.to_owned()),
        _ => {}
    }
    if put.was_owner != put.owner {
        was.extend(put.was_owner.as_ref().map(|owner| format!("{owner}'s")));
    }
    let mut said = Vec::new();
    if !was.is_empty() {
        said.push(format!("was {}", was.join(", ")));
    }
    if put.told_only {
        said.push("no file of it was seen".to_owned());
    }
    if said.is_empty() { String::new() } else { format!("({})", said.join("; ")) }
}

/// Shows which files go into the directory, and which do not.
pub fn restored_files(plan: &FilePlan, columns: Option<usize>) -> String {
    let mut page = Page { columns, out: Vec::new() };
    page.heading(plan.team.as_deref(), &plan.run, plan.at.as_deref());
    let files = count(plan.files.len(), "file");
    page.line(&[(PLAIN, &files, 0), (PLAIN, "in", 0), (BOLD, &plan.directory, 0)]);
    page.text(PLAIN, "");
    for file in &plan.files {
        let remark = match (file.torn, file.gathered) {
            (true, _) => "(no whole JSON: it was being written)",
            (_, true) => "(everything that ever stood in it)",
            _ => "",
        };
        page.line(&[(GREEN, "+", 0), (PLAIN, &file.path, 0), (DIM, remark, 0)]);
    }
    for left in &plan.left_out {
        page.line(&[(DIM, "-", 0), (PLAIN, &left.path, 0), (DIM, &format!("({})", left.why), 0)]);
    }
    page.done()
}

/// Shows what was taken back.
pub fn undone(undone: &Undone, columns: Option<usize>) -> String {
    let mut page = Page { columns, out: Vec::new() };
    page.line(&[(PLAIN, "the list", 0), (BOLD, &undone.list, 0)]);
    let tasks = |ids: &[String]| format!("{}: {}", count(ids.len(), "task"), ids.join(", "));
    for (ids, what) in [
        (&undone.removed, "removed"),
        (&undone.kept, "changed since, and left"),
        (&undone.gone, "already gone"),
    ] {
        if !ids.is_empty() {
            page.line(&[(PLAIN, what, 0), (PLAIN, &tasks(ids), 0)]);
        }
    }
    let mark = if undone.highwatermark_restored { "as it was before" } else { "left as it is" };
    page.line(&[(DIM, "highest number:", 0), (DIM, mark, 0)]);
    page.done()
}

/// What is being written.
struct Page {
    columns: Option<usize>,
    out: Vec<u8>,
}

impl Page {
    fn line(&mut self, pieces: &[(Style, &str, usize)]) {
        let mut cells = Cells::default();
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
        let when = at.map_or("as each thing was last seen".to_owned(), |at| format!("as of {at}"));
        self.text(PLAIN, &when);
    }

    /// What a task waits for, and what it no longer does.
    fn links(&mut self, put: &Put) {
        if !put.blocked_by.is_empty() {
            self.text(DIM, &format!("    waits for {}", put.blocked_by.join(", ")));
        }
        for dropped in &put.dropped {
            let what = if dropped.field == "blocks" { "blocks" } else { "waits for" };
            self.text(DIM, &format!("    no longer {what} {}: {}", dropped.task, dropped.why));
        }
    }

    fn done(self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}
