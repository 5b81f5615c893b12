//! Messages while their sources are merged, with an index to find the message of a copy.

use super::entry::{DeliveredAnswer, Entry, EntryKind, MessageEntry, MessageEvent, Source, add_source};
use crate::transcript::parse_quoted;
use std::collections::HashMap;
use teamkeep_model::payload::{Message, MessageKind};
use teamkeep_model::team::{Notice, mailbox};
use teamkeep_model::time::Timestamp;
use teamkeep_model::unicode::fold;

/// The key of a copy. Messages with and without an id are kept apart: ids are compared only with ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Id(String),
    Text { has_id: bool, text: String },
    Request { has_id: bool, event: MessageEvent, request: String },
    Reason { has_id: bool, event: MessageEvent, has_request: bool, text: Option<String> },
}

#[derive(Debug, Default)]
struct List {
    places: Vec<usize>,
    /// Number of messages at the start that cannot have more copies from this source, recipient and sender. Once that
    /// is so, it stays so.
    past: HashMap<(Source, String, String), usize>,
}

/// A list that is shorter is searched without an index of what was passed over.
const MIN_INDEXED: usize = 8;

#[derive(Default)]
pub(super) struct MessageMatcher {
    all: Vec<MessageCandidate>,
    lists: HashMap<Key, List>,
    quoted: QuotedTags,
    held: Vec<usize>,
}

impl MessageMatcher {
    pub(super) fn push(&mut self, candidate: MessageCandidate) {
        let place = self.all.len();
        self.held.extend(candidate.held.map(|_| place));
        self.all.push(candidate);
        // A rejected message was never sent.
        if self.all[place].message.event != MessageEvent::Refused {
            self.index(place);
        }
    }

    fn index(&mut self, place: usize) {
        let candidate = &self.all[place];
        for key in keys(candidate) {
            let places = &mut self.lists.entry(key).or_default().places;
            places.insert(places.partition_point(|other| *other < place), place);
        }
        self.quoted.add(place, &candidate.message.text);
    }

    /// Assigns a copy to the first message that it matches. Returns whether there is one.
    pub(super) fn add_copy(&mut self, copy: &MessageCopy<'_>, notice: Option<&Notice>) -> bool {
        let text = || copy.text.trim().to_owned();
        let keys = match copy.id {
            Some(id) => [Key::Id(id.to_owned()), Key::Text { has_id: false, text: text() }],
            None => [false, true].map(|has_id| Key::Text { has_id, text: text() }),
        };
        let place = self.first(&keys, copy, |candidate| candidate.matches(copy)).or_else(|| {
            let notice = notice?;
            self.first(&notice_keys(notice, copy), copy, |candidate| candidate.is_reported_by(copy, notice))
        });
        place.map(|place| self.all[place].add_copy(copy)).is_some()
    }

    /// Whether a message that was seen to be sent already has such a copy in the same place: Claude Code sometimes
    /// delivers one twice. Use it only for a sender whose messages are all known.
    pub(super) fn has_repeated(&self, copy: &MessageCopy<'_>) -> bool {
        let text = copy.text.trim();
        let keys = [false, true].map(|has_id| Key::Text { has_id, text: text.to_owned() });
        let places = keys.iter().filter_map(|key| self.lists.get(key)).flat_map(|list| &list.places);
        places.map(|place| &self.all[*place]).any(|candidate| {
            candidate.sent
                && candidate.has_copy_at(copy)
                && candidate.is_from(copy.from)
                && candidate.is_at(copy)
        })
    }

    /// Whether a shutdown request or its answer already has such a copy in the same place. There is one for each
    /// request id, however often Claude Code delivers it.
    pub(super) fn has_request(&self, copy: &MessageCopy<'_>, notice: Option<&Notice>) -> bool {
        let asked = notice.and_then(|notice| Some((event_of(&notice.kind)?, notice.request.clone()?)));
        let Some((event, request)) = asked.filter(|(event, _)| *event != MessageEvent::Sent) else {
            return false;
        };
        let keys = [false, true].map(|has_id| Key::Request { has_id, event, request: request.clone() });
        let places = keys.iter().filter_map(|key| self.lists.get(key)).flat_map(|list| &list.places);
        places.map(|place| &self.all[*place]).any(|candidate| candidate.has_copy_at(copy))
    }

    /// Assigns a copy to a message that the policy blocked and that was sent nevertheless, because the hook exceeded
    /// its time limit. Returns whether there is one.
    pub(super) fn add_to_blocked(&mut self, copy: &MessageCopy<'_>, notice: Option<&Notice>) -> bool {
        let is_one = |place: &usize| {
            let candidate = &self.all[*place];
            candidate.held.is_some_and(|event| {
                candidate.matches(copy)
                    || notice.is_some_and(|notice| candidate.is_reported_as(event, copy, notice))
            })
        };
        let Some(place) = self.held.iter().copied().find(is_one) else { return false };
        self.held.retain(|other| *other != place);
        self.all[place].release();
        self.index(place);
        self.all[place].add_copy(copy);
        true
    }

    /// Assigns a copy to a part of a message that quotes Claude Code's tags. Returns whether there is one.
    pub(super) fn add_quoted(&mut self, copy: &MessageCopy<'_>) -> bool {
        if copy.source != Source::Transcript {
            return false;
        }
        let place = self.quoted.find(copy, &self.all);
        place.map(|place| self.all[place].quote(copy)).is_some()
    }

    pub(super) fn finish(self) -> Vec<Entry> {
        self.all.into_iter().map(MessageCandidate::finish).collect()
    }

    fn first(
        &mut self,
        keys: &[Key],
        copy: &MessageCopy<'_>,
        is_one: impl Fn(&MessageCandidate) -> bool,
    ) -> Option<usize> {
        let all = &self.all;
        let mut found: Option<usize> = None;
        for key in keys {
            let Some(List { places, past }) = self.lists.get_mut(key) else { continue };
            let is_one = |place: &&usize| is_one(&all[**place]);
            let place = if places.len() < MIN_INDEXED {
                places.iter().find(is_one)
            } else {
                let key = (copy.source, copy.recipient.to_owned(), copy.from.to_owned());
                let past = past.entry(key).or_default();
                *past += places[*past..].iter().take_while(|place| !is_one(place)).count();
                places.get(*past)
            };
            found = found.into_iter().chain(place.copied()).min();
        }
        found
    }
}

fn notice_keys(notice: &Notice, copy: &MessageCopy<'_>) -> Vec<Key> {
    let Some(event) = event_of(&notice.kind) else { return Vec::new() };
    let mut keys = Vec::new();
    for has_id in [false, true].into_iter().filter(|has_id| !has_id || copy.id.is_none()) {
        let reason = |has_request| Key::Reason { has_id, event, has_request, text: notice.text.clone() };
        keys.push(reason(false));
        keys.push(match &notice.request {
            Some(request) => Key::Request { has_id, event, request: request.clone() },
            None => reason(true),
        });
    }
    keys
}

fn keys(candidate: &MessageCandidate) -> Vec<Key> {
    let (has_id, event, text) = (candidate.id.is_some(), candidate.message.event, &candidate.message.text);
    let mut keys = vec![Key::Text { has_id, text: text.trim().to_owned() }];
    keys.extend(candidate.id.clone().map(Key::Id));
    let request = candidate.message.request.clone();
    if event != MessageEvent::Sent || request.is_some() {
        keys.push(Key::Reason { has_id, event, has_request: request.is_some(), text: Some(text.clone()) });
        keys.extend(request.map(|request| Key::Request { has_id, event, request }));
    }
    keys
}

// A message while its sources are merged.

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
    /// What it was before the policy blocked it.
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

    fn release(&mut self) {
        if let Some(event) = self.held.take() {
            self.message.event = event;
            self.message.refusal = None;
            self.message.blocked_event = None;
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

    fn has_copy_at(&self, copy: &MessageCopy<'_>) -> bool {
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
    fn is_reported_by(&self, copy: &MessageCopy<'_>, notice: &Notice) -> bool {
        self.is_reported_as(self.message.event, copy, notice)
    }

    fn is_reported_as(&self, event: MessageEvent, copy: &MessageCopy<'_>, notice: &Notice) -> bool {
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
    fn is_for(&self, recipient: &str) -> bool {
        let to = self.message.to.as_deref();
        let is_its = |to: &str| {
            let name = to.split('@').next().unwrap_or_default();
            to == "*" || to == recipient || fold(name) == fold(recipient)
        };
        recipient == UNKNOWN_AGENT || to.is_some_and(is_its)
    }

    /// Whether the copy is at this message's recipient. Two names can share an inbox, and the file name identifies
    /// neither.
    fn is_at(&self, copy: &MessageCopy<'_>) -> bool {
        let shared = || self.message.to.as_deref().is_some_and(|to| mailbox(to) == copy.recipient);
        self.is_for(copy.recipient) || (copy.source == Source::Inbox && shared())
    }

    fn is_from(&self, sender: &str) -> bool {
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

fn event_of(word: &str) -> Option<MessageEvent> {
    match word {
        "shutdown_request" => Some(MessageEvent::ShutdownRequested),
        "shutdown_approved" => Some(MessageEvent::ShutdownApproved),
        "shutdown_rejected" => Some(MessageEvent::ShutdownRejected),
        "plan_approval_request" | "plan_approval_response" => Some(MessageEvent::Sent),
        _ => None,
    }
}

// A quirk before 2.1.328: a message that quotes Claude Code's tags looks, in the recipient's transcript, like messages of
// the agents that the tags name.

/// The parts of such messages, by text.
#[derive(Debug, Default)]
struct QuotedTags {
    segments: HashMap<String, Vec<Segment>>,
}

#[derive(Debug)]
struct Segment {
    /// The index of the whole message.
    whole: usize,
    /// The agent that the tag before it names; `None` for the start, which is its sender's.
    from: Option<String>,
    /// The agents that have read it. Each recipient reads it once.
    read_by: Vec<String>,
}

impl QuotedTags {
    pub(super) fn add(&mut self, whole: usize, text: &str) {
        if !text.contains("teammate-message") {
            return;
        }
        let segments = parse_quoted(text);
        // With one part, it is the message itself.
        for (index, part) in segments.iter().enumerate().filter(|_| segments.len() > 1) {
            let from = (index > 0).then(|| part.from.clone());
            let segment = Segment { whole, from, read_by: Vec::new() };
            self.segments.entry(without_end_tag(&part.text)).or_default().push(segment);
        }
    }

    /// Finds the message that this copy is a part of. Each part matches one copy.
    pub(super) fn find(&mut self, copy: &MessageCopy<'_>, candidates: &[MessageCandidate]) -> Option<usize> {
        if self.segments.is_empty() {
            return None;
        }
        let segment = self.segments.get_mut(&without_end_tag(copy.text))?.iter_mut().find(|segment| {
            let whole = &candidates[segment.whole];
            let named =
                segment.from.as_ref().map_or_else(|| whole.is_from(copy.from), |from| from == copy.from);
            named
                && whole.is_for(copy.recipient)
                && !segment.read_by.iter().any(|reader| reader == copy.recipient)
        })?;
        segment.read_by.push(copy.recipient.to_owned());
        Some(segment.whole)
    }
}

fn without_end_tag(text: &str) -> String {
    text.trim().trim_end_matches("</teammate-message>").trim().to_owned()
}
