//! The texts of a run's archived tasks and inboxes. Most of them are also in an event.

use serde_json::Value;

use super::document::{Author, SearchText, TextKind};
use super::event_texts::joined;
use super::transcript_texts::is_notice;
use teamkeep_model::team::{Task, TeamPath, entries};
use teamkeep_model::time::{self, Timestamp};

/// The texts of a file with this path below Claude Code's directory, whose content was archived at `seen`.
pub(super) fn documents(path: &str, bytes: &[u8], seen: Timestamp) -> Vec<SearchText> {
    match TeamPath::of(path) {
        TeamPath::Task(_, name) => {
            Task::parse(name, bytes).and_then(|task| task_text(&task, seen)).into_iter().collect()
        }
        TeamPath::Inbox(name) => inbox_texts(name.trim_end_matches(".json"), bytes, seen),
        _ => Vec::new(),
    }
}

fn task_text(task: &Task, at: Timestamp) -> Option<SearchText> {
    let author = Author { agent: task.owner.clone().unwrap_or_else(|| "unassigned".to_owned()), at };
    let description = task.raw.get("description").and_then(Value::as_str).unwrap_or_default();
    let text = joined([task.subject.as_deref().unwrap_or_default(), description]);
    author.document(TextKind::Task, &format!("#{}", task.id), text)
}

fn inbox_texts(owner: &str, bytes: &[u8], seen: Timestamp) -> Vec<SearchText> {
    let messages = entries(bytes).unwrap_or_default().into_iter().filter(|message| !is_notice(&message.text));
    let text = messages.filter_map(|message| {
        let at = message.timestamp.as_deref().and_then(time::parse).unwrap_or(seen);
        let author = Author { agent: message.from.unwrap_or_else(|| "unknown".to_owned()), at };
        let summary = message.summary.filter(|summary| !message.text.starts_with(summary.as_str()));
        author.document(TextKind::Message, owner, joined([&summary.unwrap_or_default(), &message.text]))
    });
    text.collect()
}
