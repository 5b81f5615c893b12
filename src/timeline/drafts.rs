//! Messages while their sources are put together, found by what a copy of one can be known by.

use std::collections::HashMap;

use super::draft::{Copy, Draft, kind_of};
use super::entry::{Entry, Kind, Source};
use super::quotes::Quotes;
use crate::team::Notice;

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
    /// Those that the policy held back, and that the client does not say it refused.
    held: Vec<usize>,
}

impl Drafts {
    /// Adds a message.
    pub fn push(&mut self, draft: Draft) {
        let place = self.all.len();
        self.held.extend(draft.held.map(|_| place));
        self.all.push(draft);
        // One that was refused never went out.
        if self.all[place].entry.kind != Kind::MessageRefused {
            self.know(place);
        }
    }

    fn know(&mut self, place: usize) {
        let draft = &self.all[place];
        for key in keys(draft) {
            let places = &mut self.lists.entry(key).or_default().places;
            places.insert(places.partition_point(|other| *other < place), place);
        }
        self.quotes.add(place, draft.entry.text.as_deref().unwrap_or_default());
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
            draft.sent && draft.is_found_beside(copy) && draft.is_from(copy.from) && draft.lies_at(copy)
        })
    }

    /// Whether a request to stop, or the answer to one, has such a copy in the same place already: there is one of a
    /// number, however often the client delivers it.
    pub fn has_heard(&self, copy: &Copy<'_>, notice: Option<&Notice>) -> bool {
        let asked = notice.and_then(|notice| Some((kind_of(&notice.kind)?, notice.request.clone()?)));
        let Some((kind, request)) = asked.filter(|(kind, _)| *kind != Kind::Message) else { return false };
        let keys = [false, true].map(|has_id| Key::Request { has_id, kind, request: request.clone() });
        let places = keys.iter().filter_map(|key| self.lists.get(key)).flat_map(|list| &list.places);
        places.map(|place| &self.all[*place]).any(|draft| draft.is_found_beside(copy))
    }

    /// Takes a copy for a message that the policy held back, and that went out all the same: the client takes no answer
    /// from a hook that runs out of time. Says whether there is one.
    pub fn take_held(&mut self, copy: &Copy<'_>, notice: Option<&Notice>) -> bool {
        let is_one = |place: &usize| {
            let draft = &self.all[*place];
            draft.held.is_some_and(|kind| {
                draft.says(copy) || notice.is_some_and(|notice| draft.is_told_as(kind, copy, notice))
            })
        };
        let Some(place) = self.held.iter().copied().find(is_one) else { return false };
        self.held.retain(|other| *other != place);
        self.all[place].release();
        self.know(place);
        self.all[place].take(copy);
        true
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

/// What the copies of a message can be known by.
fn keys(draft: &Draft) -> Vec<Key> {
    let (has_id, kind, text) = (draft.id.is_some(), draft.entry.kind, draft.entry.text.clone());
    let trimmed = text.as_deref().unwrap_or_default().trim().to_owned();
    let mut keys = vec![Key::Text { has_id, text: trimmed }];
    keys.extend(draft.id.clone().map(Key::Id));
    let request = draft.entry.request.clone();
    if kind != Kind::Message || request.is_some() {
        keys.push(Key::Reason { has_id, kind, has_request: request.is_some(), text });
        keys.extend(request.map(|request| Key::Request { has_id, kind, request }));
    }
    keys
}
