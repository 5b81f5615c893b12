//! The parsed snapshots of a run: every roster, every state of a task with its id, every message in an inbox.

use super::LoadedEvent;
use super::entry::{Entry, EntryKind, MessageEntry};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use teamkeep_model::team::{InboxEntry, Task, TeamConfig, TeamPath, fresh_entries, is_of, mailbox};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_store::archive::{Archive, Journal, Snapshot};

/// A run's files over time, parsed. A torn or lost state is skipped, and the one before it stays.
#[derive(Debug, Default)]
pub struct History {
    pub rosters: Vec<(Timestamp, TeamConfig)>,
    /// States of tasks: time, id, state; `None` if the file was gone.
    pub tasks: Vec<(Timestamp, String, Option<Task>)>,
    pub copies: Vec<InboxCopy>,
    pub presence: Vec<(Timestamp, bool)>,
    pub ids: TaskIds,
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InboxCopy {
    pub inbox: String,
    /// When it was first seen there, by teamkeep's clock.
    pub seen_at: Timestamp,
    pub entry: InboxEntry,
}

/// The owner of an inbox, from its file name. A temporary file has more after `.json`.
pub(super) fn inbox_of(file: &str) -> &str {
    file.split(".json").next().unwrap_or(file)
}

impl History {
    /// Reads the contents that a journal names, each once. `list` is the run's own task list, `created` the time when its team was
    /// created.
    pub fn read(
        archive: &Archive,
        journal: &Journal,
        list: Option<&str>,
        ids: TaskIds,
        created: Option<Timestamp>,
    ) -> History {
        let mut reader = HistoryReader {
            archive,
            run: &journal.run,
            created,
            trackers: HashSet::new(),
            unread: HashSet::new(),
            read: HashSet::new(),
            known: HashMap::new(),
            hasher: RandomState::new(),
            list,
            history: History { ids, ..History::default() },
        };
        journal.snapshots.iter().for_each(|snapshot| reader.add(snapshot));
        reader.history
    }

    /// Assigns inboxes to these names. The file name of an inbox is derived from its owner's name.
    pub(super) fn name_inboxes(&mut self, names: &[String]) {
        let mut owners: HashMap<String, String> = HashMap::new();
        for copy in &mut self.copies {
            let file = std::mem::take(&mut copy.inbox);
            let owner = owners.entry(file).or_insert_with_key(|file| owner_of(file, names).to_owned());
            copy.inbox.clone_from(owner);
        }
    }

    pub fn members(&self) -> BTreeMap<&str, &teamkeep_model::team::Member> {
        let members = self.rosters.iter().flat_map(|(_, roster)| &roster.members);
        members.map(|member| (member.name.as_str(), member)).collect()
    }
}

struct HistoryReader<'a> {
    archive: &'a Archive,
    run: &'a str,
    list: Option<&'a str>,
    /// When the team was created, by Claude Code's clock.
    created: Option<Timestamp>,
    trackers: HashSet<String>,
    unread: HashSet<String>,
    read: HashSet<(String, String)>,
    /// Messages that were read, by inbox: as in the file, and as parsed.
    known: HashMap<String, HashSet<u64>>,
    hasher: RandomState,
    history: History,
}

impl HistoryReader<'_> {
    fn add(&mut self, snapshot: &Snapshot) {
        let at = snapshot.at;
        if let Some(there) = snapshot.team_dir {
            self.history.presence.push((at, there));
        }
        for change in &snapshot.changed {
            let Some(hash) = &change.object else { continue };
            let is_known = match TeamPath::of(&change.path) {
                TeamPath::Inbox(file) => !self.read.insert((inbox_of(file).to_owned(), hash.clone())),
                TeamPath::Task(_, name) => !name.ends_with(".json"),
                TeamPath::Config => false,
                _ => true,
            };
            if is_known || self.unread.contains(hash) {
                continue;
            }
            let read = match self.archive.content(self.run, hash) {
                Ok(bytes) => self.parse(&change.path, at, &bytes).ok_or_else(|| {
                    let what = format!("{} is not valid in the state of {at}", change.path);
                    // A temporary file is incomplete.
                    (!change.torn && change.path.ends_with(".json"))
                        .then(|| format!("{what}; this state is skipped"))
                }),
                Err(error) => {
                    Err(Some(format!("{error}; without it that state is left out: a backup may have it")))
                }
            };
            if let Err(problem) = read {
                self.unread.insert(hash.clone());
                self.history.problems.extend(problem);
            }
        }
        for path in &snapshot.gone {
            if let TeamPath::Task(dir, name) = TeamPath::of(path)
                && let Some(id) = name.strip_suffix(".json")
            {
                let id = match self.trackers.contains(path) {
                    true => format!("{dir}/{id}"),
                    false => self.history.ids.of_file(dir, id),
                };
                self.history.tasks.push((at, id, None));
            }
        }
    }

    /// Reads a state of a file; `None` if it has no information.
    fn parse(&mut self, path: &str, at: Timestamp, bytes: &[u8]) -> Option<()> {
        match TeamPath::of(path) {
            TeamPath::Config => self.history.rosters.push((at, TeamConfig::parse(bytes)?)),
            TeamPath::Inbox(file) => {
                // Of a second directory of the team, which outlives it, only the messages since its creation count.
                let outlives = self.list.is_some_and(|team| path.split('/').nth(1) != Some(team));
                self.inbox(inbox_of(file), at, bytes, self.created.filter(|_| outlives))?;
            }
            TeamPath::Task(dir, name) => {
                let task = Task::parse(name, bytes)?;
                self.history.ids.see(dir, &task);
                let id = self.history.ids.of_task(dir, &task);
                if task.internal && self.list != Some(dir) {
                    self.trackers.insert(path.to_owned());
                }
                self.history.tasks.push((at, id, Some(task)));
            }
            _ => {}
        }
        Some(())
    }

    fn inbox(&mut self, owner: &str, at: Timestamp, bytes: &[u8], since: Option<Timestamp>) -> Option<()> {
        let known = self.known.entry(owner.to_owned()).or_default();
        let hasher = &self.hasher;
        for entry in fresh_entries(bytes, |raw| known.insert(hasher.hash_one(raw)))? {
            let sent = entry.timestamp.as_deref().and_then(time::parse);
            let is_older = sent.zip(since).is_some_and(|(sent, since)| sent < since);
            if known.insert(hasher.hash_one(entry.identity())) && !is_older {
                self.history.copies.push(InboxCopy { inbox: owner.to_owned(), seen_at: at, entry });
            }
        }
        Some(())
    }
}

/// The owner of an inbox; the file name if there is no owner or more than one.
pub(super) fn owner_of<'a>(file: &'a str, names: &'a [String]) -> &'a str {
    let mut owners = names.iter().filter(|name| mailbox(name) == file);
    match (owners.next(), owners.next()) {
        (Some(owner), None) => owner,
        _ => file,
    }
}

/// The task lists of a run. The first one in which a task was seen is the main list: its task ids are plain numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskIds {
    /// The list that is named after the team, or after the session of a run without a team.
    own: Option<String>,
    main: Option<String>,
    /// The lists that `CLAUDE_CODE_TASK_LIST_ID` named.
    named: BTreeSet<String>,
}

impl TaskIds {
    /// The lists of a run, before any task was seen.
    pub fn new(own: Option<&str>, events: &[LoadedEvent]) -> TaskIds {
        let named = events.iter().filter_map(|event| event.task_list().map(str::to_owned)).collect();
        TaskIds { own: own.map(str::to_owned), main: None, named }
    }

    /// Records a task in a list. The trackers of 2.1.47 do not count.
    pub(super) fn see(&mut self, list: &str, task: &Task) {
        if self.main.is_none() && !task.internal {
            self.main = if self.is_own(list) { self.own.clone() } else { Some(list.to_owned()) };
        }
    }

    pub fn of_file(&self, list: &str, id: &str) -> String {
        let is_main = match &self.main {
            Some(main) if Some(main) != self.own.as_ref() => main == list,
            _ => self.is_own(list),
        };
        if is_main { id.to_owned() } else { format!("{list}/{id}") }
    }

    /// The id of a task in a file. The trackers of 2.1.47 may be in another list than the team's tasks and have the same
    /// numbers.
    pub(super) fn of_task(&self, list: &str, task: &Task) -> String {
        let is_beside = task.internal && self.own.as_deref().is_some_and(|own| own != list);
        if is_beside { format!("{list}/{}", task.id) } else { self.of_file(list, &task.id) }
    }

    /// The id of a task, from its number and the list that a tool's event names. Without a list, it is the team's.
    pub fn of_event(&self, list: Option<&str>, id: &str) -> String {
        let is_named = self.main.as_ref().is_some_and(|main| self.named.contains(main));
        match (list, &self.own) {
            (Some(list), _) => self.of_file(list, id),
            (None, Some(own)) if is_named => self.of_file(own, id),
            (None, _) => id.to_owned(),
        }
    }

    pub fn is_named(&self, called: &str) -> bool {
        let list = called.rsplit_once('/').map(|(list, _)| list).or(self.main.as_deref());
        list.is_some_and(|list| self.named.contains(list))
    }

    pub fn main(&self) -> Option<&str> {
        self.main.as_deref().or(self.own.as_deref())
    }

    fn is_own(&self, list: &str) -> bool {
        self.own.as_deref().is_none_or(|own| is_of(list, own))
    }
}

// Selects the entries of a growing timeline that were not printed yet.
//
// The timeline is built again from the recorded data each time, and late data changes it: an entry can sort before
// printed ones, its time can move when a second source is found, and a message that started can turn out to be sent
// or rejected. A command that follows a run must neither repeat nor miss an entry. So:
//
// * an entry is recognized by its content, not by its position; first with its time, then without;
// * it is printed a moment after it was first seen, because its other sources follow within milliseconds;
// * a message without a sign of being sent is held longer;
// * a late entry is printed late, with its own time. A printed entry is not printed again, unless it turns out to be
//   of another kind: a rejected message.

/// How long an entry is held: other sources may still change it.
const MERGE_DELAY: Duration = Duration::from_millis(800);
/// How long a started message is held: the user may be asked for a permission.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);

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
                let MessageEntry { to, task, text, judged, .. } = message;
                self.hasher.hash_one((kind, to, task, text.trim(), judged))
            }
            EntryKind::Task(task) => {
                self.hasher.hash_one((kind, &task.id, &task.from, &task.to, &task.owner))
            }
            EntryKind::MemberJoined(_) => self.hasher.hash_one((kind, &entry.actor)),
            EntryKind::Verdict(verdict) => {
                self.hasher.hash_one((kind, &entry.actor, verdict.reason.trim(), &verdict.judged))
            }
            _ => self.hasher.hash_one((kind, &entry.actor, entry.text().map(str::trim))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(seen: &[&str], named: &[&str]) -> TaskIds {
        let task = Task::parse("1.json", b"{}").unwrap();
        let named = named.iter().map(|list| (*list).to_owned()).collect();
        let mut ids = TaskIds { own: Some("t-1".to_owned()), main: None, named };
        seen.iter().for_each(|list| ids.see(list, &task));
        ids
    }

    #[test]
    fn tasks_of_the_first_list_have_plain_numbers_as_ids() {
        let team = ids(&["t_1", "x"], &["x"]);
        assert_eq!(
            [team.of_file("t-1", "1"), team.of_file("T_1", "1"), team.of_file("x", "1")],
            ["1", "1", "x/1"]
        );
        assert_eq!([team.of_event(None, "1"), team.of_event(Some("x"), "1")], ["1", "x/1"]);
        let named = ids(&["x", "y", "t-1"], &["x", "y"]);
        assert_eq!(
            [named.of_file("x", "1"), named.of_file("y", "1"), named.of_file("t-1", "1")],
            ["1", "y/1", "t-1/1"]
        );
        assert_eq!([named.of_event(Some("y"), "1"), named.of_event(None, "1")], ["y/1", "t-1/1"]);
        let cleared = ids(&["session-2"], &[]);
        assert_eq!([cleared.of_file("session-2", "1"), cleared.of_event(None, "1")], ["1", "1"]);
        assert_eq!(ids(&[], &["x"]).of_event(Some("x"), "1"), "x/1", "no task of any list was seen");
    }
}

#[cfg(test)]
mod new_entries_tests {
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
        assert!(printed(&mut fresh, &[message(1, "a")], 12).is_empty(), "that it went out is no news");
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
