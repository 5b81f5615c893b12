//! Describes how an install changes teamkeep's hooks.

use crate::settings::entries::Entry;

/// Maximum number of listed events: all that teamkeep has hooks for.
const MAX_LISTED: usize = 16;

/// The difference between the entries before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    replaced: usize,
    added: Vec<String>,
    removed: Vec<String>,
    /// Whether there were none before.
    first: bool,
}

impl Change {
    /// Compares two lists of entries.
    pub fn between(before: &[Entry], after: &[Entry]) -> Change {
        let mut change = Change { first: before.is_empty(), ..Change::default() };
        let mut old: Vec<&Entry> = before.iter().collect();
        let missing: Vec<&Entry> =
            after.iter().filter(|entry| !take(&mut old, |old| old == *entry)).collect();
        for entry in missing {
            if take(&mut old, |old| old.event == entry.event) {
                change.replaced += 1;
            } else {
                change.added.push(entry.event.clone());
            }
        }
        change.removed = old.into_iter().map(|entry| entry.event.clone()).collect();
        change
    }

    /// One line: `replaced 12 hooks in settings.json, added 3: …`.
    pub fn describe(&self, path: &str) -> String {
        if self.first {
            return format!("installed {} in {path}", hooks(self.added.len()));
        }
        let parts = [
            ("replaced", "in", self.replaced, String::new()),
            ("added", "to", self.added.len(), named(&self.added)),
            ("removed", "from", self.removed.len(), named(&self.removed)),
        ];
        let mut line = String::new();
        for (verb, place, count, names) in parts.into_iter().filter(|(_, _, count, _)| *count > 0) {
            line.push_str(&match line.as_str() {
                "" => format!("{verb} {} {place} {path}", hooks(count)),
                _ => format!(", {verb} {count}"),
            });
            if !names.is_empty() {
                line.push_str(&format!(": {names}"));
            }
        }
        line
    }
}

/// `1 hook`, `2 hooks`.
pub fn hooks(number: usize) -> String {
    count(number, "hook")
}

/// A number of things: `1 event`, `2 events`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The names, limited in number.
pub fn named<S: AsRef<str>>(events: &[S]) -> String {
    let mut told = events.iter().take(MAX_LISTED).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if let Some(more) = events.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        told.push_str(&format!(" and {more} more"));
    }
    told
}

/// Removes the first matching entry. Returns whether there was one.
fn take(entries: &mut Vec<&Entry>, meant: impl Fn(&Entry) -> bool) -> bool {
    let place = entries.iter().position(|entry| meant(entry));
    place.map(|place| entries.remove(place)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(list: &[(&str, u32)]) -> Vec<Entry> {
        let entry =
            |(event, group): &(&str, u32)| Entry { event: (*event).to_owned(), group: (*group).into() };
        list.iter().map(entry).collect()
    }

    fn describe(before: &[(&str, u32)], after: &[(&str, u32)]) -> String {
        Change::between(&entries(before), &entries(after)).describe("settings.json")
    }

    #[test]
    fn every_hook_of_before_and_after_is_accounted_for() {
        assert_eq!(describe(&[], &[("Stop", 1), ("Start", 1)]), "installed 2 hooks in settings.json");
        assert_eq!(
            describe(&[("Stop", 1), ("Start", 1), ("Gone", 1)], &[("Stop", 2), ("Start", 2), ("New", 2)]),
            "replaced 2 hooks in settings.json, added 1: New, removed 1: Gone"
        );
        assert!(named(&["Stop"; 20]).ends_with(", Stop and 4 more"));
        assert_eq!(
            describe(&[("Stop", 1)], &[("Stop", 1), ("New", 1)]),
            "added 1 hook to settings.json: New"
        );
        assert_eq!(
            describe(&[("Stop", 1), ("Stop", 2), ("Stop", 1)], &[("Stop", 1)]),
            "removed 2 hooks from settings.json: Stop, Stop"
        );
    }
}
