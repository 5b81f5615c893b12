//! An entry in words that follow the actor's name.

use anstyle::Style;

use super::format::{count, decision, first_line, one_line};
use super::line::{BLUE, DIM, GREEN, RED, YELLOW};
use super::message::{notice, refused, sent};
use crate::model::TaskStatus;
use crate::policy::{Decision, without_prefix};
use crate::timeline::{
    Entry, EntryKind, MessageEntry, MessageEvent, TaskEntry, TaskEvent, TurnEvent, VerdictEntry,
};

/// The words and their style. `idle` means that the agent went idle right after this end of a turn.
pub fn phrase(entry: &Entry, idle: bool) -> (Style, String) {
    phrase_with(entry, entry.text().unwrap_or_default(), idle)
}

/// The same with another text.
pub fn phrase_with(entry: &Entry, text: &str, idle: bool) -> (Style, String) {
    let plain = Style::new();
    let summary = entry.summary().unwrap_or_default();
    let cause = if summary.is_empty() { "unknown" } else { summary };
    let brief = if summary.is_empty() { text } else { summary };
    match &entry.kind {
        EntryKind::SessionStarted(_) => (DIM, format!("started a session ({cause})")),
        EntryKind::SessionEnded(_) => (DIM, format!("ended the session ({cause})")),
        EntryKind::TeamCreated { .. } => (plain.bold(), with("created the team", summary)),
        EntryKind::TeamErased { .. } if summary.is_empty() => {
            (plain.bold(), "erased the team's directory".to_owned())
        }
        EntryKind::TeamErased { .. } => (plain.bold(), format!("erased the team's directory ({summary})")),
        EntryKind::MemberJoined(_) => (plain.bold(), with("joined the team", brief)),
        EntryKind::MemberLeft => (plain.bold(), "left the team".to_owned()),
        EntryKind::Task(task) => task_phrase(task, &entry.actor),
        EntryKind::Turn(turn) => match turn.event {
            TurnEvent::Started => (DIM, with("started a turn", brief)),
            TurnEvent::Ended if idle => (DIM, with("ended the turn, went idle", text)),
            TurnEvent::Ended => (DIM, with("ended the turn", text)),
            TurnEvent::Idle => (DIM, "went idle".to_owned()),
        },
        EntryKind::Message(message) => message_phrase(message, &entry.actor, text),
        EntryKind::Verdict(verdict) => verdict_phrase(verdict, text),
    }
}

fn with(words: &str, more: &str) -> String {
    if more.is_empty() { words.to_owned() } else { format!("{words}: {}", first_line(more)) }
}

fn task_phrase(change: &TaskEntry, actor: &str) -> (Style, String) {
    let task = format!("task {}", change.id);
    let subject = change.subject.as_deref().unwrap_or_default();
    let (style, what) = match change.event {
        TaskEvent::Created => (Style::new(), format!("created {task}")),
        TaskEvent::Found => {
            let status = change.to.as_ref().map_or("unknown", TaskStatus::as_str);
            (DIM, format!("already had {task}, {status}"))
        }
        TaskEvent::Changed => (BLUE, changed(change, actor, &task)),
        TaskEvent::Completed => (GREEN, format!("completed {task}")),
        TaskEvent::Deleted => (RED, format!("deleted {task}")),
        TaskEvent::Erased => (RED, format!("erased {task}")),
    };
    (style, with(&what, subject))
}

fn message_phrase(message: &MessageEntry, actor: &str, text: &str) -> (Style, String) {
    let to = message.to.as_deref().unwrap_or("unknown");
    match message.event {
        MessageEvent::Sent => match notice(text, actor, to).filter(|_| message.automatic) {
            Some(notice) => (DIM, notice),
            None => (Style::new(), sent(message, to, text)),
        },
        MessageEvent::Refused => (RED, refused(message, to, text)),
        MessageEvent::ShutdownRequested => (YELLOW, with(&format!("asked {to} to shut down"), text)),
        MessageEvent::ShutdownApproved => (YELLOW, with("approved the shutdown", text)),
        MessageEvent::ShutdownRejected => (YELLOW, with("rejected the shutdown", text)),
    }
}

fn verdict_phrase(verdict: &VerdictEntry, reason: &str) -> (Style, String) {
    let what = match (verdict.decision, verdict.blocks) {
        (Decision::Block, _) => "was blocked".to_owned(),
        (Decision::Warn, _) => "was warned".to_owned(),
        (_, Some(blocks)) => format!("was allowed after {}", count(blocks, "block")),
        _ if verdict.paused => "was allowed by the user".to_owned(),
        _ => "was allowed".to_owned(),
    };
    let why = match reason {
        "" => String::new(),
        reason => format!(": {}", one_line(without_prefix(reason))),
    };
    (decision(verdict.decision), format!("{what}{why} ({})", verdict.gate))
}

fn changed(change: &TaskEntry, actor: &str, task: &str) -> String {
    match (&change.from, &change.to, change.owner.as_deref()) {
        (Some(_), _, _) if change.is_renamed => format!("renamed {task}"),
        (from, to, Some(owner)) if from == to && owner == actor => format!("took {task}"),
        (from, to, Some(owner)) if from == to => format!("assigned {task} to {owner}"),
        (from, to, None) if from == to => format!("unassigned {task}"),
        (_, Some(TaskStatus::InProgress), _) => format!("started {task}"),
        (Some(TaskStatus::InProgress), Some(TaskStatus::Pending), None) => {
            format!("returned {task} to pending, unassigned")
        }
        (_, Some(to), _) => format!("set {task} to {to}"),
        (_, None, _) => format!("changed {task}"),
    }
}
