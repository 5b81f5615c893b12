//! One entry of the timeline.

use serde::Serialize;

use super::entry_kind::{
    EntryKind, MessageEntry, MessageEvent, TaskEntry, TaskEvent, TurnEntry, TurnEvent, VerdictEntry,
};
use super::kind::Kind;

/// The source of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A hook call.
    Hook,
    /// A snapshot of an inbox.
    Inbox,
    /// A snapshot of another file.
    Snapshot,
    /// A transcript.
    Transcript,
}

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The time, RFC 3339.
    pub at: String,
    /// The actor: a name, `client` for Claude Code itself, `unknown` if unknown.
    pub actor: String,
    /// The sources.
    pub sources: Vec<Source>,
    /// The event.
    pub kind: EntryKind,
}

impl Entry {
    /// An entry from one source.
    pub fn new(at: impl Into<String>, actor: impl Into<String>, source: Source, kind: EntryKind) -> Entry {
        Entry { at: at.into(), actor: actor.into(), sources: vec![source], kind }
    }

    /// The kind, as users name it.
    pub fn kind(&self) -> Kind {
        match &self.kind {
            EntryKind::SessionStarted(_) => Kind::SessionStarted,
            EntryKind::SessionEnded(_) => Kind::SessionEnded,
            EntryKind::TeamCreated { .. } => Kind::TeamCreated,
            EntryKind::TeamErased { .. } => Kind::TeamErased,
            EntryKind::MemberJoined(_) => Kind::MemberJoined,
            EntryKind::MemberLeft => Kind::MemberLeft,
            EntryKind::Task(task) => match task.event {
                TaskEvent::Created => Kind::TaskCreated,
                TaskEvent::Found => Kind::TaskFound,
                TaskEvent::Changed => Kind::TaskChanged,
                TaskEvent::Completed => Kind::TaskCompleted,
                TaskEvent::Deleted => Kind::TaskDeleted,
                TaskEvent::Erased => Kind::TaskErased,
            },
            EntryKind::Turn(turn) => match turn.event {
                TurnEvent::Started => Kind::TurnStarted,
                TurnEvent::Ended => Kind::TurnEnded,
                TurnEvent::Idle => Kind::Idle,
            },
            EntryKind::Message(message) => match message.event {
                MessageEvent::Sent => Kind::Message,
                MessageEvent::Refused => Kind::MessageRefused,
                MessageEvent::ShutdownRequested => Kind::ShutdownRequested,
                MessageEvent::ShutdownApproved => Kind::ShutdownApproved,
                MessageEvent::ShutdownRejected => Kind::ShutdownRejected,
            },
            EntryKind::Verdict(_) => Kind::Verdict,
        }
    }

    /// The change of a task.
    pub fn task(&self) -> Option<&TaskEntry> {
        if let EntryKind::Task(task) = &self.kind { Some(task) } else { None }
    }

    /// The start or the end of a turn.
    pub fn turn(&self) -> Option<&TurnEntry> {
        if let EntryKind::Turn(turn) = &self.kind { Some(turn) } else { None }
    }

    /// The message.
    pub fn message(&self) -> Option<&MessageEntry> {
        if let EntryKind::Message(message) = &self.kind { Some(message) } else { None }
    }

    /// The verdict.
    pub fn verdict(&self) -> Option<&VerdictEntry> {
        if let EntryKind::Verdict(verdict) = &self.kind { Some(verdict) } else { None }
    }

    /// Whether Claude Code did it automatically.
    pub fn is_automatic(&self) -> bool {
        self.message().is_some_and(|message| message.automatic)
    }

    /// The id of the agent or session.
    pub fn agent(&self) -> Option<&String> {
        match &self.kind {
            EntryKind::SessionStarted(session) | EntryKind::SessionEnded(session) => session.session.as_ref(),
            EntryKind::MemberJoined(joined) => joined.agent.as_ref(),
            EntryKind::Turn(turn) => turn.agent.as_ref(),
            EntryKind::Verdict(verdict) => verdict.agent.as_ref(),
            _ => None,
        }
    }

    /// A summary, a subject or a cause on one line.
    pub fn summary(&self) -> Option<&str> {
        match &self.kind {
            EntryKind::SessionStarted(session) | EntryKind::SessionEnded(session) => session.cause.as_deref(),
            EntryKind::TeamCreated { name: word } | EntryKind::TeamErased { ended_by: word } => {
                word.as_deref()
            }
            EntryKind::MemberJoined(joined) => joined.description.as_deref(),
            EntryKind::MemberLeft => None,
            EntryKind::Task(task) => task.subject.as_deref(),
            EntryKind::Turn(turn) => turn.description.as_deref(),
            EntryKind::Message(message) => message.summary.as_deref(),
            EntryKind::Verdict(verdict) => Some(&verdict.gate),
        }
    }

    /// The full text.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            EntryKind::MemberJoined(joined) => joined.prompt.as_deref(),
            EntryKind::Turn(turn) => turn.text.as_deref(),
            EntryKind::Message(message) => Some(&message.text),
            EntryKind::Verdict(verdict) => Some(&verdict.reason),
            _ => None,
        }
    }
}

/// Adds a source to a sorted list.
pub(super) fn add_source(sources: &mut Vec<Source>, source: Source) {
    if !sources.contains(&source) {
        sources.push(source);
        sources.sort();
    }
}
