//! Entries and messages in words that follow the actor's name.

use anstyle::Style;
use serde_json::Value;

use super::line::{BLUE, DIM, GREEN, RED, YELLOW};
use super::values::{count, decision, first_line, one_line, size, strip_tags, text_field};
use teamkeep_history::timeline::{
    DeliveredAnswer, Entry, EntryKind, MessageEntry, MessageEvent, TurnEntry, TurnEvent, UnsentAnswer,
    VerdictEntry,
};
use teamkeep_model::TaskStatus;
use teamkeep_model::team::{IdleReason, Notice};
use teamkeep_policy::{Decision, TaskChange, TaskEvent};
use teamkeep_store::metadata_only::byte_len;
use teamkeep_system::command as shell;

#[derive(Debug, Clone, Copy)]
pub struct ShownEntry<'a> {
    pub entry: &'a Entry,
    /// Whether the agent went idle right after this end of a turn.
    pub then_idle: bool,
    /// The number of ends of turns that it is the last of, without anything between them.
    pub turns: usize,
}

impl<'a> From<&'a Entry> for ShownEntry<'a> {
    fn from(entry: &'a Entry) -> ShownEntry<'a> {
        ShownEntry { entry, then_idle: false, turns: 1 }
    }
}

pub fn phrase(shown: ShownEntry<'_>) -> (Style, String) {
    phrase_with(shown, shown.entry.text().unwrap_or_default())
}

/// The same with another text.
pub fn phrase_with(ShownEntry { entry, then_idle, turns }: ShownEntry<'_>, text: &str) -> (Style, String) {
    let plain = Style::new();
    let summary = entry.summary().unwrap_or_default();
    let cause = if summary.is_empty() { "unknown" } else { summary };
    let brief = if summary.is_empty() { text } else { summary };
    match &entry.kind {
        EntryKind::SessionStarted(_) if cause == "fork" => {
            (DIM, "continued an earlier session in a new one (fork)".to_owned())
        }
        EntryKind::SessionStarted(_) => (
            DIM,
            match cause {
                "compact" => "lost its context (compaction)".to_owned(),
                "clear" => "cleared its context".to_owned(),
                "resume" => "resumed the session".to_owned(),
                _ => format!("started a session ({cause})"),
            },
        ),
        EntryKind::SessionEnded(_) => (DIM, format!("ended the session ({cause})")),
        EntryKind::TeamCreated { .. } => (plain.bold(), with("created the team", summary)),
        EntryKind::TeamErased { .. } => {
            let cause = if summary.is_empty() { String::new() } else { format!(" ({summary})") };
            (plain.bold(), format!("erased the team's directory{cause}"))
        }
        EntryKind::MemberJoined(_) => (plain.bold(), with("joined the team", brief)),
        EntryKind::MemberLeft => (plain.bold(), "left the team".to_owned()),
        EntryKind::AgentStopped(stop) => (YELLOW, format!("stopped {}", stop.name)),
        EntryKind::Task(task) => task_phrase(task, &entry.actor),
        EntryKind::Turn(turn) => match turn.event {
            TurnEvent::Started => (DIM, with(&format!("started a turn{}", own_id(turn)), brief)),
            TurnEvent::Ended => {
                let ended = if turns > 1 {
                    format!("ended {}", count(turns, "turn"))
                } else {
                    "ended the turn".to_owned()
                };
                let idle = if then_idle { ", went idle" } else { "" };
                (DIM, with(&format!("{ended}{}{idle}", own_id(turn)), text))
            }
            TurnEvent::Failed => (RED, with("failed", if text.is_empty() { summary } else { text })),
            TurnEvent::Interrupted => (YELLOW, "was interrupted by the user".to_owned()),
            TurnEvent::Idle => (DIM, "went idle".to_owned()),
        },
        EntryKind::Message(message) => message_phrase(message, &entry.actor, text),
        // With a full text, that is below.
        EntryKind::Verdict(verdict) if text.is_empty() => verdict_phrase(verdict, ""),
        EntryKind::Verdict(verdict) => verdict_phrase(verdict, &verdict.reason),
    }
}

/// The id of an agent that shares its name with another one.
fn own_id(turn: &TurnEntry) -> String {
    let id = turn.agent.as_ref().filter(|_| turn.shares_name);
    id.map_or_else(String::new, |id| format!(" ({id})"))
}

fn with(words: &str, more: &str) -> String {
    if more.is_empty() { words.to_owned() } else { format!("{words}: {}", first_line(more)) }
}

fn task_phrase(change: &TaskChange, actor: &str) -> (Style, String) {
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
        MessageEvent::Sent => {
            let delivered = message.answer.as_ref().map(|answer| delivered(answer, actor, to, text));
            match delivered.or_else(|| notice(text, actor, to)).filter(|_| message.automatic) {
                Some(notice) => (DIM, notice),
                None => (Style::new(), sent(message, to, text)),
            }
        }
        MessageEvent::Refused => (RED, refused(message, to, text)),
        MessageEvent::ShutdownRequested => (YELLOW, with(&format!("asked {to} to shut down"), text)),
        MessageEvent::ShutdownApproved => (YELLOW, with("approved the shutdown", text)),
        MessageEvent::ShutdownRejected => (YELLOW, with("rejected the shutdown", text)),
    }
}

/// A notice that delivers an answer. The text is left out if the end of the turn shows it, or if it follows in full
/// (`text` is empty).
fn delivered(answer: &DeliveredAnswer, actor: &str, to: &str, text: &str) -> String {
    let words = format!("automatic: {actor} is idle; {to} received its answer");
    if answer.is_in_turn || text.is_empty() {
        let chars = byte_len(&answer.text).unwrap_or_else(|| answer.text.chars().count());
        return format!("{words} ({})", count(chars, "character"));
    }
    with(&words, &answer.text)
}

fn verdict_phrase(verdict: &VerdictEntry, reason: &str) -> (Style, String) {
    let what = match (verdict.decision, verdict.blocks) {
        (Decision::Block, _) => "was blocked".to_owned(),
        (Decision::Warn, _) => "was warned".to_owned(),
        (_, Some(blocks)) => format!("was allowed after {}", count(blocks, "block")),
        _ if verdict.paused => "was allowed by the user".to_owned(),
        _ => "was allowed".to_owned(),
    };
    let colon = if reason.is_empty() { "" } else { ": " };
    let why = one_line(reason.trim_end_matches('.'));
    let ignored = if verdict.ignored { ", but Claude Code continued: teamkeep doctor" } else { "" };
    (decision(verdict.decision), format!("{what}{colon}{why} ({}){ignored}", verdict.gate))
}

fn changed(change: &TaskChange, actor: &str, task: &str) -> String {
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

pub fn sent(message: &MessageEntry, to: &str, text: &str) -> String {
    let to = if to == "*" { "everyone" } else { to };
    let doubt = if message.unconfirmed { " (not confirmed)" } else { "" };
    let long = if text.len() > 200 { format!(" ({})", size(text.len())) } else { String::new() };
    let colon = |text: String| if text.is_empty() { text } else { format!(": {text}") };
    let name = message.signed_as.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
    let (what, summary) = match (message.word.as_str(), message.approve) {
        ("plan_approval_request", _) => (format!("asked {to} to approve a plan"), None),
        ("plan_approval_response", Some(true)) => (format!("approved the plan of {to}"), None),
        ("plan_approval_response", Some(false)) => (format!("rejected the plan of {to}"), None),
        ("message" | "broadcast", _) => (format!("messaged {to}{name}"), message.summary.clone()),
        (kind, _) => (format!("messaged {to}{name} ({kind})"), None),
    };
    let summary = colon(summary.unwrap_or_else(|| first_line(text)));
    format!("{what}{summary}{long}{doubt}")
}

/// A message that was not sent.
pub fn refused(message: &MessageEntry, to: &str, text: &str) -> String {
    let what = match message.word.as_str() {
        "shutdown_response" => "answer the shutdown request".to_owned(),
        "shutdown_request" => format!("ask {to} to shut down"),
        _ => format!("message {to}: {}", message.summary.clone().unwrap_or_else(|| first_line(text))),
    };
    if message.blocked_event.is_some() {
        // The verdict follows, with its reason.
        return format!("tried to {what}");
    }
    match strip_tags(message.refusal.as_deref().unwrap_or_default()) {
        "" => format!("could not {what}"),
        why => format!("could not {what}: {}", first_line(why)),
    }
}

/// An answer that no agent received, in words that follow the actor's name and a colon.
pub fn unsent(answer: &UnsentAnswer) -> String {
    format!("no agent received its final answer ({})", count(answer.chars, "character"))
}

/// The command that prints such an answer in full.
pub fn print_unsent(run: &str, answer: &UnsentAnswer) -> String {
    let agent = shell::posix_quoted(&answer.agent);
    format!("teamkeep log {run} --agent={agent} --kind=turn-ended --full")
}

/// A message in an inbox, in a few words.
pub fn message_text(message: &Value, inbox: &str) -> String {
    let whole = text_field(message, "text").unwrap_or_default();
    let from = text_field(message, "from").unwrap_or("unknown");
    notice(whole, from, inbox).unwrap_or_else(|| first_line(text_field(message, "summary").unwrap_or(whole)))
}

/// The description of an automatic message; `to` is its recipient.
pub fn notice(text: &str, from: &str, to: &str) -> Option<String> {
    let notice = Notice::read(text)?;
    let who = notice.from.as_deref().unwrap_or(from);
    let task = format!("task {}", notice.task.as_deref().unwrap_or("?"));
    let why = notice.text.as_deref().map(first_line).filter(|why| !why.is_empty());
    let reasoned = |words: String| match &why {
        Some(why) => format!("{words}: {why}"),
        None => words,
    };
    let words = match notice.kind.as_str() {
        "idle_notification" => match (notice.idle_reason, notice.answer()) {
            (Some(IdleReason::Failed), _) => {
                with(&format!("the turn of {who} failed"), notice.failure.as_deref().unwrap_or_default())
            }
            (Some(IdleReason::Interrupted), _) => format!("{who} was interrupted by the user"),
            (_, Some(answer)) => format!("{who} is idle; its answer: {}", first_line(answer)),
            (_, None) => format!("{who} is idle"),
        },
        "task_assignment" => reasoned(format!("{task} assigned to {to}")),
        "task_completed" => reasoned(format!("{task} was completed by {who}")),
        "shutdown_request" => reasoned(format!("{who} asks {to} to shut down")),
        "shutdown_approved" => format!("{who} approved its shutdown"),
        "shutdown_rejected" => reasoned(format!("{who} rejected its shutdown")),
        "teammate_terminated" => why.unwrap_or_else(|| "a teammate has shut down".to_owned()),
        "plan_approval_request" => reasoned(format!("{who} asks to have a plan approved")),
        "plan_approval_response" => reasoned(format!("{who} answered about the plan")),
        "permission_request" => reasoned(format!("{who} asks for permission")),
        "permission_response" => reasoned(format!("{who} answered the permission request")),
        other => reasoned(other.replace('_', " ")),
    };
    Some(format!("automatic: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_described_in_words() {
        let described = [
            r#"{"type":"idle_notification","from":"alice","idleReason":"available","result":"Done."}"#,
            r#"{"type":"idle_notification","from":"bob","idleReason":"failed","failureReason":"Credit balance is too low"}"#,
            r#"{"type":"idle_notification","from":"bob","idleReason":"interrupted"}"#,
            r#"{"type":"task_assignment","taskId":"1","subject":"Draft","assignedBy":"team-lead"}"#,
            r#"{"type":"shutdown_request","from":"team-lead","reason":"All is done"}"#,
            r#"{"type":"shutdown_rejected","from":"alice","reason":"Two more minutes"}"#,
            r#"{"type":"teammate_terminated","message":"bob has shut down. 1 task(s) were unassigned."}"#,
            r#"{"type":"moon_phase","text":"full"}"#,
            "{plain}",
        ];
        let described = described.map(|text| notice(text, "system", "alice").unwrap_or_default());
        insta::assert_snapshot!(described.join("\n"), @"
        automatic: alice is idle; its answer: Done.
        automatic: the turn of bob failed: Credit balance is too low
        automatic: bob was interrupted by the user
        automatic: task 1 assigned to alice: Draft
        automatic: team-lead asks alice to shut down: All is done
        automatic: alice rejected its shutdown: Two more minutes
        automatic: bob has shut down. 1 task(s) were unassigned.
        automatic: moon phase
        ");
    }
}
