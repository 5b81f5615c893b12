//! An entry in words that follow the actor's name.

use anstyle::{AnsiColor, Style};

use super::format::{count, decision, first_line, one_line, size, strip_tags};
use super::system_message::notice;
use crate::model::TaskStatus;
use crate::policy::{Decision, without_prefix};
use crate::timeline::{Entry, Kind};

/// The words and their style. `idle` means that the agent went idle right after this end of a turn.
pub fn phrase(entry: &Entry, idle: bool) -> (Style, String) {
    let plain = Style::new();
    let dim = plain.dimmed();
    let text = entry.text.as_deref().unwrap_or_default();
    let summary = entry.summary.as_deref().unwrap_or_default();
    let with = |words: &str, more: &str| {
        if more.is_empty() { words.to_owned() } else { format!("{words}: {}", first_line(more)) }
    };
    let to = entry.to.as_deref().unwrap_or("unknown");
    let task = format!("task {}", entry.task.as_deref().unwrap_or("?"));
    match entry.kind {
        Kind::SessionStarted => {
            (dim, format!("started a session ({})", if summary.is_empty() { "unknown" } else { summary }))
        }
        Kind::SessionEnded => {
            (dim, format!("ended the session ({})", if summary.is_empty() { "unknown" } else { summary }))
        }
        Kind::TeamCreated => (plain.bold(), with("created the team", summary)),
        Kind::TeamErased => (plain.bold(), erased(summary)),
        Kind::MemberJoined => {
            (plain.bold(), with("joined the team", if summary.is_empty() { text } else { summary }))
        }
        Kind::MemberLeft => (plain.bold(), "left the team".to_owned()),
        Kind::TaskCreated => (plain, with(&format!("created {task}"), summary)),
        Kind::TaskFound => (dim, found(entry, &task, summary)),
        Kind::TaskChanged => (AnsiColor::Blue.on_default(), changed(entry, &task, summary)),
        Kind::TaskCompleted => (AnsiColor::Green.on_default(), with(&format!("completed {task}"), summary)),
        Kind::TaskDeleted => (AnsiColor::Red.on_default(), with(&format!("deleted {task}"), summary)),
        Kind::TaskErased => (AnsiColor::Red.on_default(), with(&format!("erased {task}"), summary)),
        Kind::TurnStarted => (dim, with("started a turn", if summary.is_empty() { text } else { summary })),
        Kind::TurnEnded if idle => (dim, with("ended the turn, went idle", text)),
        Kind::TurnEnded => (dim, with("ended the turn", text)),
        Kind::Idle => (dim, "went idle".to_owned()),
        Kind::Message => match notice(text, &entry.actor, to).filter(|_| entry.automatic) {
            Some(notice) => (dim, notice),
            None => (plain, told(entry, to, text)),
        },
        Kind::MessageRefused => (AnsiColor::Red.on_default(), refused(entry, to)),
        Kind::ShutdownRequested => {
            (AnsiColor::Yellow.on_default(), with(&format!("asked {to} to shut down"), text))
        }
        Kind::ShutdownApproved => (AnsiColor::Yellow.on_default(), with("approved the shutdown", text)),
        Kind::ShutdownRejected => (AnsiColor::Yellow.on_default(), with("rejected the shutdown", text)),
        Kind::Verdict => ruled(entry, summary, text),
    }
}

/// The words for a verdict.
fn ruled(entry: &Entry, gate: &str, reason: &str) -> (Style, String) {
    let what = match (entry.decision, entry.blocks) {
        (Some(Decision::Block), _) => "was blocked".to_owned(),
        (Some(Decision::Warn), _) => "was warned".to_owned(),
        (_, Some(blocks)) => format!("was allowed after {}", count(blocks, "block")),
        _ if entry.paused => "was allowed by the user".to_owned(),
        _ => "was allowed".to_owned(),
    };
    let style = entry.decision.map_or_else(Style::new, decision);
    let why = match reason {
        "" => String::new(),
        reason => format!(": {}", one_line(without_prefix(reason))),
    };
    (style, format!("{what}{why} ({gate})"))
}

fn erased(reason: &str) -> String {
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    format!("erased the team's directory{reason}")
}

fn told(entry: &Entry, to: &str, text: &str) -> String {
    let to = if to == "*" { "everyone" } else { to };
    let doubt = if entry.unconfirmed { " (not confirmed)" } else { "" };
    let long = if text.len() > 200 { format!(" ({})", size(text.len())) } else { String::new() };
    let about_plan = match (entry.message.as_deref(), entry.approve) {
        (Some("plan_approval_request"), _) => Some(format!("asked {to} to approve a plan")),
        (Some("plan_approval_response"), Some(true)) => Some(format!("approved the plan of {to}")),
        (Some("plan_approval_response"), Some(false)) => Some(format!("rejected the plan of {to}")),
        _ => None,
    };
    if let Some(what) = about_plan {
        let said = if text.is_empty() { String::new() } else { format!(": {}", first_line(text)) };
        return format!("{what}{said}{long}{doubt}");
    }
    let word = match entry.message.as_deref() {
        Some("message" | "broadcast") | None => String::new(),
        Some(word) => format!(" ({word})"),
    };
    let said = match entry.summary.as_deref().filter(|_| word.is_empty()) {
        Some(summary) => summary.to_owned(),
        None => first_line(text),
    };
    let said = if said.is_empty() { said } else { format!(": {said}") };
    let name = entry.signed_as.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
    format!("messaged {to}{name}{word}{said}{long}{doubt}")
}

fn refused(entry: &Entry, to: &str) -> String {
    let what = match entry.message.as_deref() {
        Some("shutdown_response") => "answer the shutdown request".to_owned(),
        Some("shutdown_request") => format!("ask {to} to shut down"),
        _ => format!(
            "message {to}: {}",
            entry.summary.clone().unwrap_or_else(|| first_line(entry.text.as_deref().unwrap_or_default()))
        ),
    };
    if entry.of.is_some() {
        // The verdict follows, with its reason.
        return format!("tried to {what}");
    }
    match strip_tags(entry.refusal.as_deref().unwrap_or_default()) {
        "" => format!("could not {what}"),
        why => format!("could not {what}: {}", first_line(without_prefix(why))),
    }
}

/// The words for a task's change.
fn found(entry: &Entry, task: &str, summary: &str) -> String {
    let what =
        format!("already had {task}, {}", entry.to_status.as_ref().map_or("unknown", TaskStatus::as_str));
    if summary.is_empty() { what } else { format!("{what}: {}", first_line(summary)) }
}

fn changed(entry: &Entry, task: &str, summary: &str) -> String {
    let owner = entry.owner.as_ref().and_then(Option::as_deref);
    let what = match (&entry.from_status, &entry.to_status, owner) {
        (Some(_), _, _) if entry.renamed => format!("renamed {task}"),
        (from, to, Some(owner)) if from == to && owner == entry.actor => format!("took {task}"),
        (from, to, Some(owner)) if from == to => format!("assigned {task} to {owner}"),
        (from, to, None) if from == to => format!("unassigned {task}"),
        (_, Some(TaskStatus::InProgress), _) => format!("started {task}"),
        (Some(TaskStatus::InProgress), Some(TaskStatus::Pending), None) => {
            format!("returned {task} to pending, unassigned")
        }
        (_, Some(to), _) => format!("set {task} to {to}"),
        (_, None, _) => format!("changed {task}"),
    };
    if summary.is_empty() { what } else { format!("{what}: {}", first_line(summary)) }
}
