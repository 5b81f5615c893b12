//! Text output of `teamkeep restore`.

use unicode_width::UnicodeWidthStr;

use super::document::Document;
use super::line::{GREEN, bold, dim, plain, styled};
use super::values::{count, first_line};
use crate::restore::{FilePlan, Plan, TaskWrite, Undone, WorktreeBranch, WorktreePlan};
use teamkeep_model::time::{self, Timestamp};

pub fn restored_tasks(plan: &Plan) -> Document {
    let mut document = heading(plan.team.as_deref(), &plan.run, plan.at);
    let what = match (plan.tasks.len(), plan.done) {
        (0, _) => "no tasks to restore into task list".to_owned(),
        (tasks, true) => format!("restored {} into task list", count(tasks, "task")),
        (tasks, false) => format!("would restore {} into task list", count(tasks, "task")),
    };
    document.line([plain(what), bold(&plan.list), dim(&plan.directory)]);
    document.blank();
    let width =
        |of: fn(&TaskWrite) -> &str| plan.tasks.iter().map(|task| of(task).width()).max().unwrap_or(0);
    let (ids, statuses) = (width(|task| &task.id), width(|task| task.status.as_str()));
    for task in &plan.tasks {
        document.line([
            styled(GREEN, "+"),
            bold(&task.id).width(ids),
            plain(task.status.as_str()).width(statuses),
            plain(first_line(&task.subject)),
            dim(past(task)),
        ]);
        if !task.blocked_by.is_empty() {
            document.line([dim(format!("    depends on {}", task.blocked_by.join(", ")))]);
        }
        for dropped in &task.dropped {
            let what = if dropped.field == "blocks" { "dependent task" } else { "dependency on" };
            document.line([dim(format!("    {what} {} dropped ({})", dropped.task, dropped.why))]);
        }
    }
    for left in &plan.left_out {
        let subject = left.subject.as_deref().map(first_line).unwrap_or_default();
        let why = dim(format!("({})", left.why));
        document.line([dim("skip"), dim(&left.task).width(ids), plain(subject), why]);
    }
    for note in &plan.notes {
        document.line([plain(format!("note: {note}"))]);
    }
    document
}

fn heading(team: Option<&str>, run: &str, at: Option<Timestamp>) -> Document {
    let mut document = Document::default();
    document.line([bold(team.unwrap_or("(no team)")), dim(run)]);
    let at = at.map(|at| format!("as of {}", time::moment(at)));
    document.line([plain(at.as_deref().unwrap_or("last recorded state"))]);
    document
}

/// The recorded state of a task.
fn past(task: &TaskWrite) -> String {
    let mut was = Vec::new();
    was.extend((task.was != task.id).then(|| task.was.clone()));
    was.extend(task.was_status.as_ref().filter(|status| **status != task.status).map(ToString::to_string));
    let owner = task.was_owner.as_ref().filter(|_| task.was_owner != task.owner);
    was.extend(owner.map(|owner| format!("owner {owner}")));
    was.extend((task.until_shutdown && !was.is_empty()).then(|| "until its shutdown".to_owned()));
    let was = (!was.is_empty()).then(|| format!("was {}", was.join(", ")));
    let unrecorded = task.from_tools_only.then(|| "its file was not recorded".to_owned());
    let notes: Vec<String> = was.into_iter().chain(unrecorded).collect();
    if notes.is_empty() { String::new() } else { format!("({})", notes.join("; ")) }
}

pub fn restored_files(plan: &FilePlan) -> Document {
    let mut document = heading(plan.team.as_deref(), &plan.run, plan.at);
    let would = if plan.done || plan.files.is_empty() { "" } else { "would restore " };
    let files = format!("{would}{}", count(plan.files.len(), "file"));
    document.line([plain(files), plain("in"), bold(&plan.directory)]);
    document.blank();
    for file in &plan.files {
        let remark = match (file.flaw, file.torn, file.gathered) {
            (Some(flaw), ..) => format!("({flaw})"),
            (None, true, _) => "(incomplete JSON: recorded during a write)".to_owned(),
            (None, false, true) => "(merged from all snapshots)".to_owned(),
            (None, false, false) => String::new(),
        };
        document.line([styled(GREEN, "+"), plain(&file.path), dim(remark)]);
    }
    for left in &plan.left_out {
        document.line([dim("skip"), plain(&left.path), dim(format!("({})", left.why))]);
    }
    document
}

pub fn restored_worktrees(plan: &WorktreePlan) -> Document {
    let mut document = heading(plan.team.as_deref(), &plan.run, plan.at);
    let would = if plan.done || plan.branches.is_empty() { "" } else { "would restore " };
    document.line([plain(format!("{would}{}", count(plan.branches.len(), "worktree")))]);
    document.blank();
    for WorktreeBranch { name, branch, at, existed, .. } in &plan.branches {
        let (mark, remark) = match existed {
            true => (dim("="), "(the branch exists)"),
            false => (styled(GREEN, "+"), ""),
        };
        document.line([mark, bold(branch), plain(name), dim(time::moment(*at)), dim(remark)]);
    }
    document
}

pub fn undone(undone: &Undone, is_preview: bool) -> Document {
    let [removed, kept] = match is_preview {
        true => ["would remove", "would keep (changed since)"],
        false => ["removed", "kept (changed since)"],
    };
    let mut document = Document::default();
    document.line([plain("task list"), bold(&undone.list)]);
    for (ids, what) in [(&undone.removed, removed), (&undone.kept, kept), (&undone.gone, "already deleted")] {
        if !ids.is_empty() {
            let tasks = format!("{}: {}", count(ids.len(), "task"), ids.join(", "));
            document.line([plain(what), plain(tasks)]);
        }
    }
    document
}
