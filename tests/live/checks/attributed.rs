//! The edits and commits are those of the agents and the tasks of the play.

use serde_json::Value;

use super::super::home::Home;
use super::super::ledger::Ledger;
use super::super::moves::Move;
use super::super::play::Played;
use super::super::record::text;
use super::super::scenarios::Guarded;
use super::differ;

const LEAD: &str = "team-lead";

pub fn differences(gates: &Guarded, played: &Played) -> Vec<String> {
    match made(&played.home) {
        Err(why) => vec![why],
        Ok(told) => {
            let of = |subject: &Option<&str>| subject.unwrap_or("edited notes.txt by one line").to_owned();
            let sent = gates.made.iter().map(|(by, task, subject)| {
                let task = if has_begun(&played.ledger, by, task) { task } else { "" };
                format!("{by} {task} {}", of(subject))
            });
            differ("files", sent, told)
        }
    }
}

/// Whether an agent has begun its task. An agent whose first message is already its turn does not (2.1.47, in panes).
fn has_begun(ledger: &Ledger, by: &str, task: &str) -> bool {
    let begins = |input: &Value| input["taskId"] == task && input["status"] == "in_progress";
    let is_it = |done: &Move| matches!(done, Move::Use { tool: "TaskUpdate", input } if begins(input));
    ledger.entries().iter().any(|entry| entry.part == by && is_it(&entry.done))
}

/// What `files` has of each edit and commit of a teammate. The lead edits by a command, which only some clients report.
fn made(home: &Home) -> Result<Vec<String>, String> {
    let found = home.json(&["files", "latest"])?;
    let found = found.first().ok_or("files prints nothing")?;
    let list = |key: &str| found[key].as_array().cloned().unwrap_or_default();
    let tasks = |entry: &Value| -> Vec<String> {
        entry["tasks"].as_array().into_iter().flatten().map(|task| text(task, "id")).collect()
    };
    let edits = list("changes").into_iter().map(|edit| {
        let name = text(&edit, "path");
        let name = name.rsplit('/').next().unwrap_or_default();
        let lines = match (edit["added"].as_u64(), edit["removed"].as_u64()) {
            (Some(1), Some(1)) => "one line".to_owned(),
            other => format!("{other:?}"),
        };
        (text(&edit, "agent"), format!("{} edited {name} by {lines}", tasks(&edit).join(" ")))
    });
    let commits = list("commits").into_iter().map(|commit| {
        let known = home.command("git").args(["cat-file", "-t", &text(&commit, "id")]).output();
        let is_known = known.is_ok_and(|known| known.stdout.starts_with(b"commit"));
        let subject = if is_known { text(&commit, "subject") } else { format!("unknown commit {commit}") };
        (text(&commit, "agent"), format!("{} {subject}", tasks(&commit).join(" ")))
    });
    let all = edits.chain(commits).filter(|(agent, _)| agent != LEAD);
    Ok(all.map(|(agent, what)| format!("{agent} {what}")).collect())
}
