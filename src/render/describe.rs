//! An entry in words that follow the actor's name.

use anstyle::{AnsiColor, Style};

use super::format::{count, decision, first_line, one_line, size, strip_tags};
use super::system_message::notice;
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
    let dim = plain.dimmed();
    let summary = entry.summary().unwrap_or_default();
    let cause = if summary.is_empty() { "unknown" } else { summary };
    let brief = if summary.is_empty() { text } else { summary };
    match &entry.kind {
        EntryKind::SessionStarted(_) => (dim, format!("started a session ({cause})")),
        EntryKind::SessionEnded(_) => (dim, format!("ended the session ({cause})")),
        EntryKind::TeamCreated { .. } => (plain.bold(), with("created the team", summary)),
        EntryKind::TeamErased { .. } => (plain.bold(), erased(summary)),
        EntryKind::MemberJoined(_) => (plain.bold(), with("joined the team", brief)),
        EntryKind::MemberLeft => (plain.bold(), "left the team".to_owned()),
        EntryKind::Task(task) => task_phrase(task, &entry.actor),
        EntryKind::Turn(turn) => match turn.event {
            TurnEvent::Started => (dim, with("started a turn", brief)),
            TurnEvent::Ended if idle => (dim, with("ended the turn, went idle", text)),
            TurnEvent::Ended => (dim, with("ended the turn", text)),
            TurnEvent::Idle => (dim, "went idle".to_owned()),
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
            (Style::new().dimmed(), format!("already had {task}, {status}"))
        }
        TaskEvent::Changed => (AnsiColor::Blue.on_default(), changed(change, actor, &task)),
        TaskEvent::Completed => (AnsiColor::Green.on_default(), format!("completed {task}")),
        TaskEvent::Deleted => (AnsiColor::Red.on_default(), format!("deleted {task}")),
        TaskEvent::Erased => (AnsiColor::Red.on_default(), format!("erased {task}")),
    };
    (style, with(&what, subject))
}

fn message_phrase(message: &MessageEntry, actor: &str, text: &str) -> (Style, String) {
    let to = message.to.as_deref().unwrap_or("unknown");
    let yellow = AnsiColor::Yellow.on_default();
    match message.event {
        MessageEvent::Sent => match notice(text, actor, to).filter(|_| message.automatic) {
            Some(notice) => (Style::new().dimmed(), notice),
            None => (Style::new(), sent(message, to, text)),
        },
        MessageEvent::Refused => (AnsiColor::Red.on_default(), refused(message, to, text)),
        MessageEvent::ShutdownRequested => (yellow, with(&format!("asked {to} to shut down"), text)),
        MessageEvent::ShutdownApproved => (yellow, with("approved the shutdown", text)),
        MessageEvent::ShutdownRejected => (yellow, with("rejected the shutdown", text)),
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

fn erased(reason: &str) -> String {
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    format!("erased the team's directory{reason}")
}

fn sent(message: &MessageEntry, to: &str, text: &str) -> String {
    let to = if to == "*" { "everyone" } else { to };
    let doubt = if message.unconfirmed { " (not confirmed)" } else { "" };
    let long = if text.len() > 200 { format!(" ({})", size(text.len())) } else { String::new() };
    let about_plan = match (message.word.as_str(), message.approve) {
        ("plan_approval_request", _) => Some(format!("asked {to} to approve a plan")),
        ("plan_approval_response", Some(true)) => Some(format!("approved the plan of {to}")),
        ("plan_approval_response", Some(false)) => Some(format!("rejected the plan of {to}")),
        _ => None,
    };
    if let Some(what) = about_plan {
        let said = if text.is_empty() { String::new() } else { format!(": {}", first_line(text)) };
        return format!("{what}{said}{long}{doubt}");
    }
    let word = match message.word.as_str() {
        "message" | "broadcast" => String::new(),
        word => format!(" ({word})"),
    };
    let said = match message.summary.as_deref().filter(|_| word.is_empty()) {
        Some(summary) => summary.to_owned(),
        None => first_line(text),
    };
    let said = if said.is_empty() { said } else { format!(": {said}") };
    let name = message.signed_as.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
    format!("messaged {to}{name}{word}{said}{long}{doubt}")
}

fn refused(message: &MessageEntry, to: &str, text: &str) -> String {
    let what = match message.word.as_str() {
        "shutdown_response" => "answer the shutdown request".to_owned(),
        "shutdown_request" => format!("ask {to} to shut down"),
        _ => format!("message {to}: {}", message.summary.clone().unwrap_or_else(|| first_line(text))),
    };
    if message.judged.is_some() {
        // The verdict follows, with its reason.
        return format!("tried to {what}");
    }
    match strip_tags(message.refusal.as_deref().unwrap_or_default()) {
        "" => format!("could not {what}"),
        why => format!("could not {what}: {}", first_line(without_prefix(why))),
    }
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
