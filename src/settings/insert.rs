//! Inserts teamkeep's entries into a settings text.
//!
//! Each insertion is formatted so that [`super::remove`] restores the previous text. A new object or array has its
//! first item on its own line; in an existing empty one, the first item directly follows the bracket.

use serde_json::{Map, Value};

use crate::settings::document::{Container, Document};
use crate::settings::entries::Entry;
use crate::settings::layout::{Layout, indentation};
use crate::settings::splice::Splice;

/// The changes that add these entries at the end.
pub fn insert(document: &Document, entries: &[Entry]) -> Vec<Splice> {
    let layout = Layout::of(document);
    let place = Place { document, layout: &layout };
    let Some(hooks) = document.hooks() else {
        return place.add_hooks(entries);
    };
    let inside = Container::of_object(hooks);
    let inner = layout.inner(document.text, &inside);
    let (mut splices, mut events) = (Vec::new(), Vec::new());
    for (event, groups) in by_event(entries) {
        match hooks.get_array(&event) {
            Some(array) => {
                let inside = Container::of_array(array);
                let inner = layout.inner(document.text, &inside);
                let groups = groups.iter().map(|group| layout.render(group, &inner)).collect();
                splices.extend(place.append(&inside, groups, &inner));
            }
            None => events.push(property(&event, &layout.render(&Value::Array(groups), &inner))),
        }
    }
    splices.extend(place.append(&inside, events, &inner));
    splices
}

struct Place<'d> {
    document: &'d Document<'d>,
    layout: &'d Layout,
}

impl Place<'_> {
    fn add_hooks(&self, entries: &[Entry]) -> Vec<Splice> {
        let events: Map<String, Value> =
            by_event(entries).into_iter().map(|(event, groups)| (event, Value::Array(groups))).collect();
        let (text, inside) = (self.document.text, Container::of_object(&self.document.root));
        let inner = self.layout.inner(text, &inside);
        let hooks = property("hooks", &self.layout.render(&Value::Object(events), &inner));
        if inside.open < inside.close {
            return self.append(&inside, vec![hooks], &inner);
        }
        // The common `{}` is formatted as a person would.
        let (newline, outer) = (self.layout.newline, indentation(text, inside.open - 1));
        vec![Splice::insert(inside.open, format!("{newline}{inner}{hooks}{newline}{outer}"))]
    }

    /// Adds items after the last one and its comments, and keeps a trailing comma.
    fn append(&self, inside: &Container, items: Vec<String>, inner: &str) -> Vec<Splice> {
        if items.is_empty() {
            return Vec::new();
        }
        let between = format!("{}{inner}", self.layout.newline);
        let items = items.join(&format!(",{between}"));
        let comment = self.document.comments(inside).last().map(|comment| comment.end);
        let Some(last) = inside.items.last() else {
            return vec![match comment {
                Some(end) => Splice::insert(end, format!("{between}{items}")),
                None => Splice::insert(inside.open, items),
            }];
        };
        let comma = self.document.commas(inside).last().map(|comma| comma.end).filter(|end| *end > last.end);
        let anchor = last.end.max(comma.unwrap_or_default()).max(comment.unwrap_or_default());
        match comma {
            Some(_) => vec![Splice::insert(anchor, format!("{between}{items},"))],
            None => vec![Splice::insert(last.end, ","), Splice::insert(anchor, format!("{between}{items}"))],
        }
    }
}

fn property(name: &str, value: &str) -> String {
    format!("{}: {value}", Value::from(name))
}

/// The groups of each event, in the order of the events.
fn by_event(entries: &[Entry]) -> Vec<(String, Vec<Value>)> {
    let mut events: Vec<(String, Vec<Value>)> = Vec::new();
    for entry in entries {
        match events.iter_mut().find(|(event, _)| *event == entry.event) {
            Some((_, groups)) => groups.push(entry.group.clone()),
            None => events.push((entry.event.clone(), vec![entry.group.clone()])),
        }
    }
    events
}
