//! A message while its sources are merged.

use super::entry::{DeliveredAnswer, Entry, EntryKind, MessageEntry, MessageEvent, Source, add_source};
use teamkeep_model::payload::{Message, MessageKind};
use teamkeep_model::team::{Notice, mailbox};
use teamkeep_model::time::Timestamp;
use teamkeep_model::unicode::fold;

pub(super) const UNKNOWN_AGENT: &str = "unknown";

pub(super) struct MessageCandidate {
    pub at: Timestamp,
    pub from: String,
    sources: Vec<Source>,
    pub message: MessageEntry,
    /// Claude Code's id of the message (since 2.1.328).
    pub id: Option<String>,
    /// The inboxes and transcripts in which it was found. Each has one copy of a message.
    found: Vec<(Source, String)>,
    signed: bool,
    /// Whether its sending was seen; otherwise only copies are known.
    pub sent: bool,
    pub held: Option<MessageEvent>,
}

pub(super) struct MessageCopy<'a> {
    pub recipient: &'a str,
    pub from: &'a str,
    pub summary: Option<&'a str>,
    pub text: &'a str,
    pub id: Option<&'a str>,
    /// The time of sending, by teamkeep's clock if known.
    pub at: Timestamp,
    pub source: Source,
}

impl MessageCandidate {
    pub(super) fn from_tool_call(
        at: Timestamp,
        from: Option<String>,
        message: Message,
        source: Source,
    ) -> MessageCandidate {
        let event = match &message.kind {
            MessageKind::Plain | MessageKind::Other(_) => MessageEvent::Sent,
            MessageKind::ShutdownRequest => MessageEvent::ShutdownRequested,
            MessageKind::ShutdownResponse { approve: true } => MessageEvent::ShutdownApproved,
            MessageKind::ShutdownResponse { approve: false } => MessageEvent::ShutdownRejected,
        };
        let asked = message.asked().map(str::to_owned);
        let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
        let from = from.or(asked.filter(|_| answers));
        let signed = from.is_some();
        let approve = message.approve.filter(|_| matches!(&message.kind, MessageKind::Other(_)));
        let word = match message.kind {
            MessageKind::Plain if message.to.as_deref() == Some("*") => "broadcast".to_owned(),
            MessageKind::Plain => "message".to_owned(),
            MessageKind::ShutdownRequest => "shutdown_request".to_owned(),
            MessageKind::ShutdownResponse { .. } => "shutdown_response".to_owned(),
            MessageKind::Other(word) => word,
        };
        let message = MessageEntry {
            to: message.to,
            summary: message.summary,
            request: message.request,
            approve,
            ..MessageEntry::new(event, word, message.text)
        };
        let from = from.unwrap_or_else(|| UNKNOWN_AGENT.to_owned());
        let sources = vec![source];
        let (id, found, held) = (None, Vec::new(), None);
        MessageCandidate { at, from, sources, message, id, found, signed, sent: true, held }
    }

    pub(super) fn add_source(&mut self, source: Source) {
        add_source(&mut self.sources, source);
    }

    /// Marks a message that was never sent. It has no copies.
    pub(super) fn refuse(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.message.event = MessageEvent::Refused;
            self.message.unconfirmed = false;
            self.message.refusal = Some(why.to_owned());
        }
    }

    /// Marks a message that the policy blocked. If it has a copy, it was sent nevertheless.
    pub(super) fn defer(&mut self, why: &str) {
        self.held = Some(self.message.event);
        self.refuse(Some(why));
    }

    pub(super) fn release(&mut self) {
        if let Some(event) = self.held.take() {
            self.message.event = event;
            self.message.refusal = None;
            self.message.judged = None;
        }
    }

    /// A message that is known only from its copy: Claude Code's own, or one without a hook call.
    pub(super) fn from_copy(copy: &MessageCopy<'_>, notice: Option<Notice>) -> MessageCandidate {
        let word = notice.as_ref().map_or_else(|| "message".to_owned(), |notice| notice.kind.clone());
        let event = event_of(&word);
        let mut message = MessageEntry::new(event.unwrap_or(MessageEvent::Sent), word, copy.text.to_owned());
        message.to = Some(copy.recipient.to_owned());
        message.summary = copy.summary.map(str::to_owned);
        if let Some(notice) = notice {
            // 2.1.47 and 2.1.177 approve a plan automatically, without a text, before the lead has read it.
            let is_automatic =
                notice.approved == Some(true) && notice.text.as_deref().unwrap_or_default().is_empty();
            message.automatic = match message.word.as_str() {
                "shutdown_request" | "plan_approval_request" => false,
                "plan_approval_response" => is_automatic,
                _ => true,
            };
            message.answer =
                notice.answer().map(|text| DeliveredAnswer { text: text.to_owned(), is_in_turn: false });
            message.task = notice.task;
            message.approve = notice.approved.filter(|_| message.word == "plan_approval_response");
            if event.is_some() {
                message.text = notice.text.unwrap_or_default();
                message.summary = None;
            }
            message.request = notice.request;
        }
        MessageCandidate {
            at: copy.at,
            from: copy.from.to_owned(),
            sources: vec![copy.source],
            message,
            id: copy.id.map(str::to_owned),
            found: vec![(copy.source, copy.recipient.to_owned())],
            signed: true,
            sent: false,
            held: None,
        }
    }

    fn may_have(&self, copy: &MessageCopy<'_>) -> bool {
        (self.message.event != MessageEvent::Refused || self.held.is_some()) && !self.has_copy_at(copy)
    }

    pub(super) fn has_copy_at(&self, copy: &MessageCopy<'_>) -> bool {
        self.found.iter().any(|(source, recipient)| *source == copy.source && recipient == copy.recipient)
    }

    pub(super) fn matches(&self, copy: &MessageCopy<'_>) -> bool {
        let same = match (self.id.as_deref(), copy.id) {
            (Some(id), Some(other)) => id == other,
            _ => self.is_from(copy.from) && self.is_at(copy) && self.has_text(Some(copy.text)),
        };
        same && self.may_have(copy)
    }

    /// Whether this copy is Claude Code's notice of this shutdown request, or of the answer.
    pub(super) fn is_reported_by(&self, copy: &MessageCopy<'_>, notice: &Notice) -> bool {
        self.is_reported_as(self.message.event, copy, notice)
    }

    pub(super) fn is_reported_as(
        &self,
        event: MessageEvent,
        copy: &MessageCopy<'_>,
        notice: &Notice,
    ) -> bool {
        let same = match (&self.message.request, &notice.request) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => {
                self.is_at(copy)
                    && self.is_from(copy.from)
                    && Some(&self.message.text) == notice.text.as_ref()
            }
        };
        let ids_differ = self.id.is_some() && copy.id.is_some();
        // A plan can be approved by Claude Code and then approved or rejected by the lead: two answers to one request.
        let answers_differ = self
            .message
            .approve
            .zip(notice.approved)
            .is_some_and(|(mine, theirs)| mine != theirs || !self.has_text(notice.text.as_deref()));
        let alike = event_of(&notice.kind) == Some(event)
            && (event != MessageEvent::Sent || self.message.word == notice.kind);
        same && !ids_differ && !answers_differ && alike && self.may_have(copy)
    }

    fn has_text(&self, text: Option<&str>) -> bool {
        self.message.text.trim() == text.unwrap_or_default().trim()
    }

    /// A teammate's name can include its team, `bob@parser-team`, and have any spelling that folds to it (2.1.328). A
    /// transcript without a known owner may be any agent's.
    pub(super) fn is_for(&self, recipient: &str) -> bool {
        let to = self.message.to.as_deref();
        let is_its = |to: &str| {
            let name = to.split('@').next().unwrap_or_default();
            to == "*" || to == recipient || fold(name) == fold(recipient)
        };
        recipient == UNKNOWN_AGENT || to.is_some_and(is_its)
    }

    /// Whether the copy is at this message's recipient. Two names can share an inbox, and the file name identifies
    /// neither.
    pub(super) fn is_at(&self, copy: &MessageCopy<'_>) -> bool {
        let shared = || self.message.to.as_deref().is_some_and(|to| mailbox(to) == copy.recipient);
        self.is_for(copy.recipient) || (copy.source == Source::Inbox && shared())
    }

    pub(super) fn is_from(&self, sender: &str) -> bool {
        !self.signed || self.from == sender || self.message.signed_as.as_deref() == Some(sender)
    }

    pub(super) fn add_copy(&mut self, copy: &MessageCopy<'_>) {
        self.found.push((copy.source, copy.recipient.to_owned()));
        self.add_source(copy.source);
        self.message.unconfirmed = false;
        if !self.signed {
            copy.from.clone_into(&mut self.from);
            self.signed = true;
        }
        // The place of the copy identifies the recipient better than the address.
        if let Some(to) = &mut self.message.to
            && copy.recipient != UNKNOWN_AGENT
            && !to.contains(['*', '@'])
            && mailbox(to) != copy.recipient
        {
            copy.recipient.clone_into(to);
        }
        if self.message.summary.is_none() && self.message.event == MessageEvent::Sent {
            self.message.summary = copy.summary.map(str::to_owned);
        }
    }

    pub(super) fn quote(&mut self, copy: &MessageCopy<'_>) {
        self.add_source(Source::Transcript);
        self.found.push((copy.source, copy.recipient.to_owned()));
    }

    pub(super) fn finish(mut self) -> Entry {
        let heard = self.found.into_iter().filter(|(source, _)| *source == Source::Transcript);
        self.message.heard_by = heard.map(|(_, recipient)| recipient).collect();
        // Claude Code signs its automatic messages with this name. An automatic approval of a plan has the lead's.
        let is_approval = self.message.word == "plan_approval_response";
        if self.message.automatic && (self.from == "system" || is_approval) {
            "client".clone_into(&mut self.from);
        }
        Entry { at: self.at, actor: self.from, sources: self.sources, kind: EntryKind::Message(self.message) }
    }
}

pub(super) fn event_of(word: &str) -> Option<MessageEvent> {
    match word {
        "shutdown_request" => Some(MessageEvent::ShutdownRequested),
        "shutdown_approved" => Some(MessageEvent::ShutdownApproved),
        "shutdown_rejected" => Some(MessageEvent::ShutdownRejected),
        "plan_approval_request" | "plan_approval_response" => Some(MessageEvent::Sent),
        _ => None,
    }
}
