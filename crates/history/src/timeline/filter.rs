//! Selects entries of a timeline: a part of it, or those that are new.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::entry::{Entry, EntryKind, Kind, MessageEntry};
use super::run_data::RunData;
use teamkeep_model::event::LEAD;
use teamkeep_model::time::Timestamp;
use teamkeep_system::error::{Error, unknown};

#[derive(Debug, Clone, Default)]
pub struct Filter {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    /// Names, agent ids or roles (`lead`, `teammate`, `subagent`); empty for all.
    actors: Vec<String>,
    involving: bool,
    kinds: Vec<Kind>,
}

impl Filter {
    /// The part between two moments, both included; `None` means no limit.
    pub fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> Filter {
        Filter { from, to, ..Filter::default() }
    }

    pub fn only(self, actors: &[String], kinds: &[Kind]) -> Filter {
        Filter { actors: actors.to_vec(), kinds: kinds.to_vec(), ..self }
    }

    pub fn involving(self, names: &[String]) -> Filter {
        if names.is_empty() { self } else { Filter { actors: names.to_vec(), involving: true, ..self } }
    }

    pub fn contains(&self, entry: &Entry, data: &RunData) -> bool {
        self.from.is_none_or(|from| from <= entry.at)
            && self.to.is_none_or(|to| entry.at <= to)
            && (self.kinds.is_empty() || self.kinds.contains(&entry.kind()))
            && (self.actors.is_empty()
                || self.actors.iter().any(|actor| {
                    is_by(entry, actor, data) || (self.involving && involves(entry, actor, data))
                }))
    }

    pub fn unknown_agent(&self, entries: &[Entry], data: &RunData) -> Option<Error> {
        let is_known =
            |actor: &String| data.is_member(actor) || entries.iter().any(|entry| is_by(entry, actor, data));
        let stranger =
            self.actors.iter().find(|actor| !ROLES.contains(&actor.as_str()) && !is_known(actor))?;
        let mut names: Vec<&str> = entries.iter().map(|entry| entry.actor.as_str()).collect();
        names.extend(data.members.iter().map(String::as_str));
        names.extend(ROLES);
        names.sort_unstable();
        names.dedup();
        Some(unknown("agent", stranger, &names))
    }
}

const ROLES: [&str; 3] = ["lead", "teammate", "subagent"];

fn is_by(entry: &Entry, actor: &str, data: &RunData) -> bool {
    let is_lead = || entry.actor == LEAD || entry.actor == "lead";
    entry.actor == actor
        || entry.agent().is_some_and(|agent| agent == actor)
        || match actor {
            "lead" => is_lead(),
            "teammate" => data.is_member(&entry.actor) && !is_lead(),
            "subagent" => entry.turn().is_some_and(|turn| turn.by_subagent),
            _ => false,
        }
}

/// Whether an entry by another agent concerns this one: a message to it, a task that it owns, or a verdict about it.
fn involves(entry: &Entry, actor: &str, data: &RunData) -> bool {
    let is_all = || data.is_member(actor) && entry.actor != actor;
    match &entry.kind {
        EntryKind::Message(message) => message.to.as_deref().is_some_and(|to| {
            to == actor
                || (to == "*" && is_all())
                || to.split_once('@').is_some_and(|(name, _)| name == actor)
        }),
        EntryKind::Task(task) => task.owner.as_deref() == Some(actor),
        EntryKind::AgentStopped(stop) => stop.name == actor,
        EntryKind::Verdict(verdict) => mentions(&verdict.text, actor),
        _ => false,
    }
}

fn mentions(reason: &str, actor: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    reason
        .match_indices(actor)
        .any(|(at, _)| !reason[..at].ends_with(is_part) && !reason[at + actor.len()..].starts_with(is_part))
}

/// How long an entry is held: other sources may still change it.
const MERGE_DELAY: Duration = Duration::from_millis(800);
/// How long a started message is held: the user may be asked for a permission.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);

/// Selects the entries of a growing timeline that were not printed yet.
///
/// The timeline is built again from the recorded data each time, and late data changes it: an entry can sort before
/// printed ones, its time can move when a second source is found, and a message that started can turn out to be sent
/// or rejected. A command that follows a run must neither repeat nor miss an entry. So:
///
/// * an entry is recognized by its content, not by its position; first with its time, then without;
/// * it is printed a moment after it was first seen, because its other sources follow within milliseconds;
/// * a message without a sign of being sent is held longer;
/// * a late entry is printed late, with its own time. A printed entry is not printed again, unless it turns out to be
///   of another kind: a rejected message.
#[derive(Debug, Default)]
pub struct NewEntries {
    hasher: RandomState,
    printed: HashMap<u64, Vec<Timestamp>>,
    waiting: HashMap<(u64, Timestamp), Duration>,
    begun: bool,
}

impl NewEntries {
    pub fn is_new(&self) -> bool {
        !self.begun
    }

    /// Takes the timeline at a moment of any clock (`None` if the run has ended) and returns the indexes of the entries
    /// to print. The first time, and when the run has ended, these are all that were not printed.
    pub fn take(&mut self, entries: &[Entry], now: Option<Duration>) -> Vec<usize> {
        let all = !std::mem::replace(&mut self.begun, true) || now.is_none();
        let now = now.unwrap_or_default();
        let keys: Vec<u64> = entries.iter().map(|entry| self.key(entry)).collect();
        let known = self.known(entries, &keys);
        let mut due = Vec::new();
        let mut waiting = HashMap::new();
        for place in (0..entries.len()).filter(|place| !known[*place]) {
            let entry = &entries[place];
            let key = (keys[place], entry.at);
            let since = self.waiting.get(&key).copied().unwrap_or(now);
            let started = entry.message().is_some_and(|message| message.unconfirmed);
            let delay = if started { CONFIRM_TIMEOUT } else { MERGE_DELAY };
            if all || now.saturating_sub(since) >= delay {
                self.printed.entry(key.0).or_default().push(key.1);
                due.push(place);
            } else {
                waiting.insert(key, since);
            }
        }
        self.waiting = waiting;
        due
    }

    /// Which of the entries were printed. Each printed one matches one entry.
    fn known(&mut self, entries: &[Entry], keys: &[u64]) -> Vec<bool> {
        let mut left = self.printed.clone();
        let mut known = vec![false; entries.len()];
        for (place, entry) in entries.iter().enumerate() {
            let times = left.get_mut(&keys[place]);
            if let Some(times) = times
                && let Some(at) = times.iter().position(|at| *at == entry.at)
            {
                times.swap_remove(at);
                known[place] = true;
            }
        }
        // The rest was printed with another time, or is no longer in the timeline.
        for (place, entry) in entries.iter().enumerate() {
            let may_move =
                matches!(entry.kind, EntryKind::Task(_) | EntryKind::MemberJoined(_) | EntryKind::Message(_));
            if known[place] || !may_move {
                continue;
            }
            let Some(at) = left.get_mut(&keys[place]).and_then(Vec::pop) else { continue };
            known[place] = true;
            if let Some(times) = self.printed.get_mut(&keys[place])
                && let Some(place) = times.iter().position(|time| *time == at)
            {
                times[place] = entry.at;
            }
        }
        known
    }

    /// The identity of an entry. The actor may be learned late if there is a second source.
    fn key(&self, entry: &Entry) -> u64 {
        let kind = entry.kind();
        // A prompt, a summary and a reason can come from the second source as well.
        match &entry.kind {
            EntryKind::Message(message) => {
                let MessageEntry { to, task, text, blocked_event, .. } = message;
                self.hasher.hash_one((kind, to, task, text.trim(), blocked_event))
            }
            EntryKind::Task(task) => {
                self.hasher.hash_one((kind, &task.id, &task.from, &task.to, &task.owner))
            }
            EntryKind::MemberJoined(_) => self.hasher.hash_one((kind, &entry.actor)),
            EntryKind::Verdict(verdict) => {
                self.hasher.hash_one((kind, &entry.actor, verdict.reason.trim(), &verdict.judged_event))
            }
            _ => self.hasher.hash_one((kind, &entry.actor, entry.text().map(str::trim))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::MessageEvent;
    use super::super::entry::Source;
    use super::*;

    fn message(at: i64, text: &str) -> Entry {
        changed(at, text, |_| {})
    }

    fn changed(at: i64, text: &str, change: impl Fn(&mut MessageEntry)) -> Entry {
        let mut message = MessageEntry::new(MessageEvent::Sent, "message".to_owned(), text.to_owned());
        change(&mut message);
        Entry::new(Timestamp::from_millis(at).unwrap(), "alice", Source::Hook, EntryKind::Message(message))
    }

    fn printed(fresh: &mut NewEntries, entries: &[Entry], seconds: u64) -> Vec<String> {
        let due = fresh.take(entries, Some(Duration::from_secs(seconds)));
        due.into_iter().map(|place| entries[place].text().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn an_entry_that_sorts_before_printed_ones_is_printed_and_nothing_twice() {
        let mut fresh = NewEntries::default();
        assert_eq!(printed(&mut fresh, &[message(1, "a"), message(3, "c")], 0), ["a", "c"]);
        let timeline = [message(1, "a"), message(2, "b"), message(3, "c")];
        assert!(printed(&mut fresh, &timeline, 1).is_empty(), "it is waited for");
        assert_eq!(printed(&mut fresh, &timeline, 2), ["b"]);
        assert!(printed(&mut fresh, &timeline, 9).is_empty());
    }

    #[test]
    fn the_same_text_sent_again_is_printed_again() {
        let mut fresh = NewEntries::default();
        assert_eq!(printed(&mut fresh, &[message(2, "a")], 0).len(), 1);
        let timeline = [message(1, "a"), message(2, "a"), message(3, "a")];
        printed(&mut fresh, &timeline, 1);
        let due = fresh.take(&timeline, Some(Duration::from_secs(2)));
        assert_eq!(due, [0, 2], "those of the other times");
    }

    #[test]
    fn a_moved_time_or_a_learned_actor_is_not_a_new_entry() {
        let mut fresh = NewEntries::default();
        printed(&mut fresh, &[message(2, "a"), message(3, "b")], 0);
        let named = Entry { actor: "bob".to_owned(), ..message(3, "b") };
        for seconds in [1, 2, 3] {
            assert!(printed(&mut fresh, &[message(1, "a"), named.clone()], seconds).is_empty());
        }
    }

    #[test]
    fn a_started_message_is_held_and_a_rejection_is_printed_again() {
        let mut fresh = NewEntries::default();
        printed(&mut fresh, &[], 0);
        let began = changed(1, "a", |message| message.unconfirmed = true);
        assert!(printed(&mut fresh, std::slice::from_ref(&began), 1).is_empty());
        assert!(printed(&mut fresh, std::slice::from_ref(&began), 9).is_empty());
        assert_eq!(printed(&mut fresh, std::slice::from_ref(&began), 11), ["a"]);
        assert!(printed(&mut fresh, &[message(1, "a")], 12).is_empty(), "it is the same message");
        let refused = changed(1, "a", |message| message.event = MessageEvent::Refused);
        printed(&mut fresh, std::slice::from_ref(&refused), 13);
        assert_eq!(printed(&mut fresh, &[refused], 14), ["a"]);
    }

    #[test]
    fn at_the_end_of_the_run_no_entry_is_held() {
        let mut fresh = NewEntries::default();
        printed(&mut fresh, &[], 0);
        let began = changed(1, "a", |message| message.unconfirmed = true);
        assert_eq!(fresh.take(&[began], None), [0]);
    }
}
