//! A message while its sources are merged.

use super::entry::{Entry, Kind, Source};
use crate::payload::{Message, MessageKind};
use crate::team::{Notice, mailbox};
use crate::unicode::fold;

/// Stands for an unknown agent.
pub(super) const UNKNOWN_AGENT: &str = "unknown";

/// A message while its sources are put together.
pub(super) struct MessageCandidate {
    pub entry: Entry,
    /// Claude Code's id of the message (since 2.1.328).
    pub id: Option<String>,
    /// The inboxes and transcripts in which it was found. Each has one copy of a message.
    found: Vec<(Source, String)>,
    /// Whether the sender is known.
    signed: bool,
    /// Whether its sending was seen; otherwise only copies are known.
    pub sent: bool,
    /// Its kind before the policy blocked it, if only the policy is known to have prevented it.
    pub held: Option<Kind>,
}

/// One copy of a message, at its recipient.
pub(super) struct Copy<'a> {
    pub recipient: &'a str,
    pub from: &'a str,
    pub summary: Option<&'a str>,
    pub text: &'a str,
    pub id: Option<&'a str>,
    /// The time of sending, by teamkeep's clock if known.
    pub at: String,
    pub source: Source,
}

impl MessageCandidate {
    pub fn from_tool_call(
        at: String,
        from: Option<String>,
        message: Message,
        source: Source,
    ) -> MessageCandidate {
        let kind = match &message.kind {
            MessageKind::Plain | MessageKind::Other(_) => Kind::Message,
            MessageKind::ShutdownRequest => Kind::ShutdownRequested,
            MessageKind::ShutdownResponse { approve: true } => Kind::ShutdownApproved,
            MessageKind::ShutdownResponse { approve: false } => Kind::ShutdownRejected,
        };
        let asked = message.asked().map(str::to_owned);
        let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
        let from = from.or(asked.filter(|_| answers));
        let signed = from.is_some();
        let mut entry = Entry::new(at, kind, from.unwrap_or_else(|| UNKNOWN_AGENT.to_owned()), source);
        entry.to = message.to;
        entry.summary = message.summary;
        entry.text = Some(message.text);
        entry.request = message.request;
        entry.approve = message.approve.filter(|_| matches!(&message.kind, MessageKind::Other(_)));
        entry.message = Some(match message.kind {
            MessageKind::Plain if entry.to.as_deref() == Some("*") => "broadcast".to_owned(),
            MessageKind::Plain => "message".to_owned(),
            MessageKind::ShutdownRequest => "shutdown_request".to_owned(),
            MessageKind::ShutdownResponse { .. } => "shutdown_response".to_owned(),
            MessageKind::Other(word) => word,
        });
        MessageCandidate { entry, id: None, found: Vec::new(), signed, sent: true, held: None }
    }

    /// Marks a message that was never sent. It has no copies.
    pub fn refuse(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.entry.kind = Kind::MessageRefused;
            self.entry.unconfirmed = false;
            self.entry.refusal = Some(why.to_owned());
        }
    }

    /// Marks a message that the policy blocked. If it has a copy, it was sent nevertheless.
    pub fn defer(&mut self, why: &str) {
        self.held = Some(self.entry.kind);
        self.refuse(Some(why));
    }

    /// Removes the mark of a block.
    pub fn release(&mut self) {
        if let Some(kind) = self.held.take() {
            self.entry.kind = kind;
            self.entry.refusal = None;
            self.entry.of = None;
        }
    }

    /// A message that is known only from its copy: Claude Code's own, or one without a hook call.
    pub fn from_sighting(copy: &Copy<'_>, notice: Option<Notice>) -> MessageCandidate {
        let word = notice.as_ref().map_or_else(|| "message".to_owned(), |notice| notice.kind.clone());
        let kind = kind_of(&word).unwrap_or(Kind::Message);
        let mut entry = Entry::new(copy.at.clone(), kind, copy.from, copy.source);
        entry.to = Some(copy.recipient.to_owned());
        entry.summary = copy.summary.map(str::to_owned);
        entry.text = Some(copy.text.to_owned());
        if let Some(notice) = notice {
            // 2.1.47 and 2.1.177 approve a plan automatically, without a text, before the lead has read it.
            let is_own =
                notice.approved == Some(true) && notice.text.as_deref().unwrap_or_default().is_empty();
            entry.automatic = match word.as_str() {
                "shutdown_request" | "plan_approval_request" => false,
                "plan_approval_response" => is_own,
                _ => true,
            };
            entry.task = notice.task;
            entry.approve = notice.approved.filter(|_| word == "plan_approval_response");
            if kind_of(&word).is_some() {
                entry.text = Some(notice.text.unwrap_or_default());
                entry.summary = None;
            }
            entry.request = notice.request;
        }
        entry.message = Some(word);
        let found = vec![(copy.source, copy.recipient.to_owned())];
        MessageCandidate {
            entry,
            id: copy.id.map(str::to_owned),
            found,
            signed: true,
            sent: false,
            held: None,
        }
    }

    /// Whether this copy can belong to this message, apart from the text.
    fn may_have(&self, copy: &Copy<'_>) -> bool {
        (self.entry.kind != Kind::MessageRefused || self.held.is_some()) && !self.is_found_beside(copy)
    }

    /// Whether a copy was already found in the same inbox or transcript.
    pub fn is_found_beside(&self, copy: &Copy<'_>) -> bool {
        self.found.iter().any(|(source, recipient)| *source == copy.source && recipient == copy.recipient)
    }

    /// Whether this copy has the message's id, or else its sender, recipient and text.
    pub fn says(&self, copy: &Copy<'_>) -> bool {
        let same = match (self.id.as_deref(), copy.id) {
            (Some(id), Some(other)) => id == other,
            _ => self.is_from(copy.from) && self.is_at(copy) && self.says_as(Some(copy.text)),
        };
        same && self.may_have(copy)
    }

    /// Whether this copy is Claude Code's notice of this shutdown request, or of the answer.
    pub fn is_reported_by(&self, copy: &Copy<'_>, notice: &Notice) -> bool {
        self.is_reported_as(self.entry.kind, copy, notice)
    }

    /// The same for a message of the given kind.
    pub fn is_reported_as(&self, kind: Kind, copy: &Copy<'_>, notice: &Notice) -> bool {
        let same = match (&self.entry.request, &notice.request) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => self.is_at(copy) && self.is_from(copy.from) && self.entry.text == notice.text,
        };
        let ids_differ = self.id.is_some() && copy.id.is_some();
        // A plan can be approved by Claude Code and then approved or rejected by the lead: two answers to one request.
        let answers_differ = self
            .entry
            .approve
            .zip(notice.approved)
            .is_some_and(|(mine, theirs)| mine != theirs || !self.says_as(notice.text.as_deref()));
        let alike = kind_of(&notice.kind) == Some(kind)
            && (kind != Kind::Message || self.entry.message.as_deref() == Some(&notice.kind));
        same && !ids_differ && !answers_differ && alike && self.may_have(copy)
    }

    fn says_as(&self, text: Option<&str>) -> bool {
        self.entry.text.as_deref().unwrap_or_default().trim() == text.unwrap_or_default().trim()
    }

    /// A teammate's name can include its team, `bob@parser-team`, and have any spelling that folds to it (2.1.328). A
    /// transcript without a known owner may be any agent's.
    pub fn is_for(&self, recipient: &str) -> bool {
        let to = self.entry.to.as_deref();
        let is_its = |to: &str| {
            let name = to.split('@').next().unwrap_or_default();
            to == "*" || to == recipient || fold(name) == fold(recipient)
        };
        recipient == UNKNOWN_AGENT || to.is_some_and(is_its)
    }

    /// Whether the copy is at this message's recipient. Two names can share an inbox, and the file name identifies
    /// neither.
    pub fn is_at(&self, copy: &Copy<'_>) -> bool {
        let shared = || self.entry.to.as_deref().is_some_and(|to| mailbox(to) == copy.recipient);
        self.is_for(copy.recipient) || (copy.source == Source::Inbox && shared())
    }

    pub fn is_from(&self, sender: &str) -> bool {
        !self.signed || self.entry.actor == sender || self.entry.signed_as.as_deref() == Some(sender)
    }

    pub fn take(&mut self, copy: &Copy<'_>) {
        self.found.push((copy.source, copy.recipient.to_owned()));
        self.entry.seen_in(copy.source);
        self.entry.unconfirmed = false;
        if !self.signed {
            copy.from.clone_into(&mut self.entry.actor);
            self.signed = true;
        }
        // The place of the copy identifies the recipient better than the address.
        let is_told = |to: &&mut String| !to.contains(['*', '@']) && mailbox(to) != copy.recipient;
        if let Some(to) = self.entry.to.as_mut().filter(is_told).filter(|_| copy.recipient != UNKNOWN_AGENT) {
            copy.recipient.clone_into(to);
        }
        if self.entry.summary.is_none() && self.entry.kind == Kind::Message {
            self.entry.summary = copy.summary.map(str::to_owned);
        }
    }

    /// Adds a part of it that looks like a message of its own.
    pub fn quote(&mut self, copy: &Copy<'_>) {
        self.entry.seen_in(Source::Transcript);
        self.found.push((copy.source, copy.recipient.to_owned()));
    }

    pub fn finish(mut self) -> Entry {
        let heard = self.found.into_iter().filter(|(source, _)| *source == Source::Transcript);
        self.entry.heard_by = heard.map(|(_, recipient)| recipient).collect();
        // Claude Code signs its automatic messages with this name.
        if self.entry.automatic && self.entry.actor == "system" {
            "client".clone_into(&mut self.entry.actor);
        }
        self.entry
    }
}

/// The kind of a notice about a request or its answer.
pub(super) fn kind_of(word: &str) -> Option<Kind> {
    match word {
        "shutdown_request" => Some(Kind::ShutdownRequested),
        "shutdown_approved" => Some(Kind::ShutdownApproved),
        "shutdown_rejected" => Some(Kind::ShutdownRejected),
        "plan_approval_request" | "plan_approval_response" => Some(Kind::Message),
        _ => None,
    }
}
