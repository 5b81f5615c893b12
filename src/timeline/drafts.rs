//! Messages while their sources are put together, found by what a copy of one can be known by.

use std::collections::HashMap;

use super::entry::{Entry, Kind, Source};
use super::quotes::Quotes;
use crate::payload::{Message, MessageKind};
use crate::team::{Notice, mailbox};

/// A message while its sources are put together.
pub(super) struct Draft {
    pub entry: Entry,
    /// The client's id, from 2.1.328 on.
    pub id: Option<String>,
    /// The inboxes and transcripts that it was already found in: each of them holds one message once.
    found: Vec<(Source, String)>,
    /// Whether the sender is known.
    signed: bool,
    /// Whether it was seen to be sent; else there are only copies of it.
    sent: bool,
}

/// One copy of a message, at its recipient.
pub(super) struct Copy<'a> {
    pub recipient: &'a str,
    pub from: &'a str,
    pub summary: Option<&'a str>,
    pub text: &'a str,
    pub id: Option<&'a str>,
    /// When it was sent, by our clock as far as it can be told.
    pub at: String,
    pub source: Source,
}

/// What a copy can be known by. Messages with an id and those without are apart: two ids are compared, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// The client's id.
    Id(String),
    /// The text, without the space around it.
    Text { has_id: bool, text: String },
    /// A request to stop, or the answer to it, by its number.
    Request { has_id: bool, kind: Kind, request: String },
    /// The same by its reason.
    Reason { has_id: bool, kind: Kind, has_request: bool, text: Option<String> },
}

/// Messages that share a key, by time.
#[derive(Debug, Default)]
struct List {
    places: Vec<usize>,
    /// How many at its beginning can have no more copies from this source, recipient and sender: what once could not
    /// have one never can.
    past: HashMap<(Source, String, String), usize>,
}

/// A list that is shorter is gone through.
const SHORT: usize = 8;

/// The messages that are known so far.
#[derive(Default)]
pub(super) struct Drafts {
    all: Vec<Draft>,
    lists: HashMap<Key, List>,
    quotes: Quotes,
}

impl Drafts {
    /// Adds a message.
    pub fn push(&mut self, draft: Draft) {
        let place = self.all.len();
        // One that was refused never went out.
        if draft.entry.kind != Kind::MessageRefused {
            for key in draft.keys() {
                self.lists.entry(key).or_default().places.push(place);
            }
            self.quotes.add(place, draft.entry.text.as_deref().unwrap_or_default());
        }
        self.all.push(draft);
    }

    /// Takes a copy for the first message that it is one of. Says whether there is one.
    pub fn take(&mut self, copy: &Copy<'_>, notice: Option<&Notice>) -> bool {
        let text = || copy.text.trim().to_owned();
        let said = match copy.id {
            Some(id) => [Key::Id(id.to_owned()), Key::Text { has_id: false, text: text() }],
            None => [false, true].map(|has_id| Key::Text { has_id, text: text() }),
        };
        let place = self.first(&said, copy, |draft| draft.says(copy)).or_else(|| {
            let notice = notice?;
            self.first(&notice_keys(notice, copy), copy, |draft| draft.is_told_by(copy, notice))
        });
        place.map(|place| self.all[place].take(copy)).is_some()
    }

    /// Whether a message that was seen to be sent has such a copy in the same place already: the client delivers one
    /// twice at times. To be asked of a sender all of whose messages are known.
    pub fn has_taken(&self, copy: &Copy<'_>) -> bool {
        let text = copy.text.trim();
        let keys = [false, true].map(|has_id| Key::Text { has_id, text: text.to_owned() });
        let places = keys.iter().filter_map(|key| self.lists.get(key)).flat_map(|list| &list.places);
        places.map(|place| &self.all[*place]).any(|draft| {
            let is_there =
                draft.found.iter().any(|(source, who)| *source == copy.source && who == copy.recipient);
            draft.sent && is_there && draft.is_from(copy.from) && draft.lies_at(copy)
        })
    }

    /// Whether a request to stop, or the answer to one, has such a copy in the same place already: there is one of a
    /// number, however often the client delivers it.
    pub fn has_heard(&self, copy: &Copy<'_>, notice: Option<&Notice>) -> bool {
        let asked = notice.and_then(|notice| Some((kind_of(&notice.kind)?, notice.request.clone()?)));
        let Some((kind, request)) = asked.filter(|(kind, _)| *kind != Kind::Message) else { return false };
        let keys = [false, true].map(|has_id| Key::Request { has_id, kind, request: request.clone() });
        let places = keys.iter().filter_map(|key| self.lists.get(key)).flat_map(|list| &list.places);
        let is_there = |found: &(Source, String)| found.0 == copy.source && found.1 == copy.recipient;
        places.map(|place| &self.all[*place]).any(|draft| draft.found.iter().any(is_there))
    }

    /// Takes a copy for a piece of a message that quotes the client's tags. Says whether there is one.
    pub fn take_quoted(&mut self, copy: &Copy<'_>) -> bool {
        if copy.source != Source::Transcript {
            return false;
        }
        let place = self.quotes.explain(copy, &self.all);
        place.map(|place| self.all[place].quote(copy)).is_some()
    }

    /// Tells them.
    pub fn finish(self) -> Vec<Entry> {
        self.all.into_iter().map(Draft::finish).collect()
    }

    fn first(&mut self, keys: &[Key], copy: &Copy<'_>, is_one: impl Fn(&Draft) -> bool) -> Option<usize> {
        let all = &self.all;
        let mut found: Option<usize> = None;
        for key in keys {
            let Some(List { places, past }) = self.lists.get_mut(key) else { continue };
            let is_one = |place: &&usize| is_one(&all[**place]);
            let place = if places.len() < SHORT {
                places.iter().find(is_one)
            } else {
                let whose = (copy.source, copy.recipient.to_owned(), copy.from.to_owned());
                let past = past.entry(whose).or_default();
                *past += places[*past..].iter().take_while(|place| !is_one(place)).count();
                places.get(*past)
            };
            found = found.into_iter().chain(place.copied()).min();
        }
        found
    }
}

/// What a request, or an answer to one, is known by.
fn notice_keys(notice: &Notice, copy: &Copy<'_>) -> Vec<Key> {
    let Some(kind) = kind_of(&notice.kind) else { return Vec::new() };
    let mut keys = Vec::new();
    for has_id in [false, true].into_iter().filter(|has_id| !has_id || copy.id.is_none()) {
        let reason = |has_request| Key::Reason { has_id, kind, has_request, text: notice.text.clone() };
        keys.push(reason(false));
        keys.push(match &notice.request {
            Some(request) => Key::Request { has_id, kind, request: request.clone() },
            None => reason(true),
        });
    }
    keys
}

impl Draft {
    pub fn of_call(at: String, from: Option<String>, message: Message, source: Source) -> Draft {
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
        let mut entry = Entry::new(at, kind, from.unwrap_or_else(|| "unknown".to_owned()), source);
        entry.to = message.to;
        entry.summary = message.summary;
        entry.text = Some(message.text);
        entry.request = message.request;
        entry.message = Some(match message.kind {
            MessageKind::Plain if entry.to.as_deref() == Some("*") => "broadcast".to_owned(),
            MessageKind::Plain => "message".to_owned(),
            MessageKind::ShutdownRequest => "shutdown_request".to_owned(),
            MessageKind::ShutdownResponse { .. } => "shutdown_response".to_owned(),
            MessageKind::Other(word) => word,
        });
        Draft { entry, id: None, found: Vec::new(), signed, sent: true }
    }

    /// Marks a message that never went out. It has no copies.
    pub fn refuse(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.entry.kind = Kind::MessageRefused;
            self.entry.unconfirmed = false;
            self.entry.refusal = Some(why.to_owned());
        }
    }

    /// A message that only its copy tells of: the client's own, or one whose hook nobody saw.
    pub fn of_copy(copy: &Copy<'_>, notice: Option<Notice>) -> Draft {
        let word = notice.as_ref().map_or_else(|| "message".to_owned(), |notice| notice.kind.clone());
        let kind = kind_of(&word).unwrap_or(Kind::Message);
        let mut entry = Entry::new(copy.at.clone(), kind, copy.from, copy.source);
        entry.to = Some(copy.recipient.to_owned());
        entry.summary = copy.summary.map(str::to_owned);
        entry.text = Some(copy.text.to_owned());
        if let Some(notice) = notice {
            entry.automatic = word != "shutdown_request" && !word.starts_with("plan_approval");
            entry.task = notice.task;
            if kind_of(&word).is_some() {
                entry.text = Some(notice.text.unwrap_or_default());
                entry.summary = None;
            }
            entry.request = notice.request;
        }
        entry.message = Some(word);
        let found = vec![(copy.source, copy.recipient.to_owned())];
        Draft { entry, id: copy.id.map(str::to_owned), found, signed: true, sent: false }
    }

    /// What its copies can be known by.
    fn keys(&self) -> Vec<Key> {
        let (has_id, kind, text) = (self.id.is_some(), self.entry.kind, self.entry.text.clone());
        let trimmed = text.as_deref().unwrap_or_default().trim().to_owned();
        let mut keys = vec![Key::Text { has_id, text: trimmed }];
        keys.extend(self.id.clone().map(Key::Id));
        let request = self.entry.request.clone();
        if kind != Kind::Message || request.is_some() {
            keys.push(Key::Reason { has_id, kind, has_request: request.is_some(), text });
            keys.extend(request.map(|request| Key::Request { has_id, kind, request }));
        }
        keys
    }

    /// Whether nothing speaks against this copy being one of this message, whatever it says.
    fn may_have(&self, copy: &Copy<'_>) -> bool {
        let known =
            |(source, recipient): &(Source, String)| *source == copy.source && recipient == copy.recipient;
        self.entry.kind != Kind::MessageRefused && !self.found.iter().any(known)
    }

    /// Whether this copy has the message's id; else its sender, recipient and text.
    fn says(&self, copy: &Copy<'_>) -> bool {
        let same = match (self.id.as_deref(), copy.id) {
            (Some(id), Some(other)) => id == other,
            _ => {
                self.is_from(copy.from)
                    && self.lies_at(copy)
                    && self.entry.text.as_deref().map(str::trim) == Some(copy.text.trim())
            }
        };
        same && self.may_have(copy)
    }

    /// Whether this copy is the client's notice of this request to stop, or of this answer.
    fn is_told_by(&self, copy: &Copy<'_>, notice: &Notice) -> bool {
        let same = match (&self.entry.request, &notice.request) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => self.lies_at(copy) && self.is_from(copy.from) && self.entry.text == notice.text,
        };
        let ids_differ = self.id.is_some() && copy.id.is_some();
        let alike = kind_of(&notice.kind) == Some(self.entry.kind)
            && (self.entry.kind != Kind::Message || self.entry.message.as_deref() == Some(&notice.kind));
        same && !ids_differ && alike && self.may_have(copy)
    }

    /// A teammate's name may be written with its team, `bob@parser-team`, and in another case (2.1.328).
    pub fn is_for(&self, recipient: &str) -> bool {
        let to = self.entry.to.as_deref();
        to.is_some_and(|to| {
            let name = to.split('@').next().unwrap_or_default();
            to == "*" || to == recipient || name.eq_ignore_ascii_case(recipient)
        })
    }

    /// Whether it is for whom this copy lies at. Two names may share an inbox, and the file's name tells neither.
    fn lies_at(&self, copy: &Copy<'_>) -> bool {
        let shared = || self.entry.to.as_deref().is_some_and(|to| mailbox(to) == copy.recipient);
        self.is_for(copy.recipient) || (copy.source == Source::Inbox && shared())
    }

    pub fn is_from(&self, sender: &str) -> bool {
        !self.signed || self.entry.actor == sender
    }

    fn take(&mut self, copy: &Copy<'_>) {
        self.found.push((copy.source, copy.recipient.to_owned()));
        self.entry.seen_in(copy.source);
        self.entry.unconfirmed = false;
        if !self.signed {
            copy.from.clone_into(&mut self.entry.actor);
            self.signed = true;
        }
        // Where it lies says better than how it was addressed whom it reached.
        let is_told = |to: &&mut String| !to.contains(['*', '@']) && mailbox(to) != copy.recipient;
        if let Some(to) = self.entry.to.as_mut().filter(is_told) {
            copy.recipient.clone_into(to);
        }
        if self.entry.summary.is_none() && self.entry.kind == Kind::Message {
            self.entry.summary = copy.summary.map(str::to_owned);
        }
    }

    /// Takes a piece of it that reads as a message of its own.
    fn quote(&mut self, copy: &Copy<'_>) {
        self.entry.seen_in(Source::Transcript);
        self.found.push((copy.source, copy.recipient.to_owned()));
    }

    pub fn finish(mut self) -> Entry {
        let heard = self.found.into_iter().filter(|(source, _)| *source == Source::Transcript);
        self.entry.heard_by = heard.map(|(_, recipient)| recipient).collect();
        // The client signs what it says by itself so.
        if self.entry.automatic && self.entry.actor == "system" {
            "client".clone_into(&mut self.entry.actor);
        }
        self.entry
    }
}

/// The kind that the notice of a request or of its answer tells of.
fn kind_of(word: &str) -> Option<Kind> {
    match word {
        "shutdown_request" => Some(Kind::ShutdownRequested),
        "shutdown_approved" => Some(Kind::ShutdownApproved),
        "shutdown_rejected" => Some(Kind::ShutdownRejected),
        "plan_approval_request" | "plan_approval_response" => Some(Kind::Message),
        _ => None,
    }
}
