//! Text output of `teamkeep files` and `teamkeep blame`.

use unicode_width::UnicodeWidthStr;

use super::document::{Document, Table};
use super::line::{dim, plain};
use super::values::{count, minute, one_line, since, thousands};
use teamkeep_history::files::{
    FileChange, FileHistory, FoundBy, MadeCommit, PresentLine, TaskRef, ToolChange,
};
use teamkeep_model::time::{self, Timestamp};

/// A tab of a file, which would be escaped.
const TAB: &str = "    ";

/// The changed files and the commits of a run.
pub fn files(started_at: Timestamp, files: &[FileHistory], commits: &[MadeCommit]) -> Document {
    let mut document = Document::default();
    document.section("Files", file_table(started_at, files));
    let rows = commits.iter().map(|commit| {
        [
            since(started_at, commit.at),
            commit.id.clone(),
            commit.branch.clone(),
            commit.agent.clone(),
            tasks(&commit.tasks),
            one_line(&commit.subject),
        ]
    });
    let titles = ["when#", "commit", "branch", "agent", "task", "subject"];
    document.section("Commits", Document::from(Table::of(&titles, rows)));
    document
}

/// Each file with the agents that changed it.
pub(super) fn file_table(started_at: Timestamp, files: &[FileHistory]) -> Document {
    let rows = files.iter().flat_map(|file| {
        file.agents.iter().enumerate().map(move |(place, user)| {
            [
                if place == 0 { file.path.clone() } else { String::new() },
                user.agent.clone(),
                thousands(user.changes),
                format!("+{}", thousands(user.added)),
                format!("-{}", thousands(user.removed)),
                since(started_at, user.first),
                since(started_at, user.last),
            ]
        })
    });
    let titles = ["file", "agent", "changes#", "added#", "removed#", "first#", "last#"];
    Document::from(Table::of(&titles, rows))
}

/// The lines of a file, each with the run, the agent, the task and the time of its change.
pub fn blame(lines: &[(&PresentLine, Option<(&FileChange, FoundBy)>)]) -> Document {
    let cells = lines.iter().map(|(_, found)| match found {
        Some((found, found_by)) => {
            let moved = if *found_by == FoundBy::Text { "~" } else { "" };
            let task = found.change.tasks.first().map(|task| format!("#{}", task.id)).unwrap_or_default();
            [
                format!("{moved}{}", found.run_name()),
                found.change.agent.clone(),
                task,
                minute(found.change.at),
            ]
        }
        None => ["-", "-", "", ""].map(str::to_owned),
    });
    let cells: Vec<[String; 4]> = cells.collect();
    let width = |column: usize| cells.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let digits = lines.last().map_or(1, |(line, _)| line.number.to_string().len());
    let mut document = Document::default();
    for ((line, _), [run, agent, task, at]) in lines.iter().zip(&cells) {
        document.code([
            dim(run).width(widths[0]),
            plain(agent).width(widths[1]),
            plain(task).width(widths[2]),
            dim(at).width(widths[3]),
            dim(line.number.to_string()).right(digits),
            plain(line.text.replace('\t', TAB)),
        ]);
    }
    document
}

/// The changes of a file, each with its run, or the change that a line comes from.
pub fn file_changes<'a>(
    changes: impl Iterator<Item = (&'a str, &'a ToolChange)>,
    line: Option<&str>,
) -> Document {
    let rows = changes.map(|(team, change)| {
        [
            time::moment(change.at),
            change.agent.clone(),
            team.to_owned(),
            change.tool.clone(),
            format!("+{}", thousands(change.added)),
            format!("-{}", thousands(change.removed)),
            tasks_in_full(&change.tasks),
        ]
    });
    let titles = ["when", "agent", "team", "tool", "added#", "removed#", "task"];
    let table = Table { indent: 0, ..Table::of(&titles, rows) };
    let mut document = Document::default();
    if let Some(line) = line.filter(|_| !table.rows.is_empty()) {
        document.paragraph(line.replace('\t', TAB));
    }
    document.table(table);
    document
}

fn tasks(tasks: &[TaskRef]) -> String {
    tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(", ")
}

fn tasks_in_full(tasks: &[TaskRef]) -> String {
    let full = |task: &TaskRef| match &task.subject {
        Some(subject) => format!("{} {}", task.id, one_line(subject)),
        None => task.id.clone(),
    };
    match tasks {
        [] => String::new(),
        [task] => full(task),
        [first, others @ ..] => format!("{} (and {})", full(first), count(others.len(), "other")),
    }
}
