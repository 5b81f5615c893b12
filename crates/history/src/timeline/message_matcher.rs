//! Messages while their sources are merged, with an index to find the message of a copy.

use std::collections::HashMap;

use super::entry::{Entry, MessageEvent, Source};
use super::message_candidate::{MessageCandidate, MessageCopy, event_of};
use super::quoted_tags::QuotedTags;
use teamkeep_model::team::Notice;

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
