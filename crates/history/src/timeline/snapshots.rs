//! The parsed snapshots of a run: every roster, every state of a task with its id, every message in an inbox.

use super::LoadedEvent;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use teamkeep_model::team::{
    InboxEntry, Task, TeamConfig, TeamPath, fresh_entries, inbox_owner, is_of, mailbox,
};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_store::archive::{Archive, Journal, Snapshot};

/// A run's files over time, parsed. A torn or lost state is skipped, and the one before it stays.
#[derive(Debug, Default)]
pub struct RunSnapshots {
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

impl RunSnapshots {
    /// Reads the contents that a journal names, each once. `list` is the run's own task list, `created` the time when its team was
    /// created.
    pub fn read(
        archive: &Archive,
        journal: &Journal,
        list: Option<&str>,
        ids: TaskIds,
        created: Option<Timestamp>,
    ) -> RunSnapshots {
        let mut reader = SnapshotsReader {
            archive,
            run: &journal.run,
            created,
            trackers: HashSet::new(),
            unread: HashSet::new(),
            read: HashSet::new(),
            known: HashMap::new(),
            hasher: RandomState::new(),
            list,
            snapshots: RunSnapshots { ids, ..RunSnapshots::default() },
        };
        journal.snapshots.iter().for_each(|snapshot| reader.add(snapshot));
        reader.snapshots
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

struct SnapshotsReader<'a> {
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
    snapshots: RunSnapshots,
}

impl SnapshotsReader<'_> {
    fn add(&mut self, snapshot: &Snapshot) {
        let at = snapshot.at;
        if let Some(there) = snapshot.team_dir {
            self.snapshots.presence.push((at, there));
        }
        for change in &snapshot.changed {
            let Some(hash) = &change.object else { continue };
            let is_known = match TeamPath::of(&change.path) {
                TeamPath::Inbox(file) => !self.read.insert((inbox_owner(file).to_owned(), hash.clone())),
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
                self.snapshots.problems.extend(problem);
            }
        }
        for path in &snapshot.gone {
            if let TeamPath::Task(dir, name) = TeamPath::of(path)
                && let Some(id) = name.strip_suffix(".json")
            {
                let id = match self.trackers.contains(path) {
                    true => format!("{dir}/{id}"),
                    false => self.snapshots.ids.of_file(dir, id),
                };
                self.snapshots.tasks.push((at, id, None));
            }
        }
    }

    /// Reads a state of a file; `None` if it has no information.
    fn parse(&mut self, path: &str, at: Timestamp, bytes: &[u8]) -> Option<()> {
        match TeamPath::of(path) {
            TeamPath::Config => self.snapshots.rosters.push((at, TeamConfig::parse(bytes)?)),
            TeamPath::Inbox(file) => {
                // Of a second directory of the team, which outlives it, only the messages since its creation count.
                let outlives = self.list.is_some_and(|team| path.split('/').nth(1) != Some(team));
                self.inbox(inbox_owner(file), at, bytes, self.created.filter(|_| outlives))?;
            }
            TeamPath::Task(dir, name) => {
                let task = Task::parse(name, bytes)?;
                self.snapshots.ids.see(dir, &task);
                let id = self.snapshots.ids.of_task(dir, &task);
                if task.internal && self.list != Some(dir) {
                    self.trackers.insert(path.to_owned());
                }
                self.snapshots.tasks.push((at, id, Some(task)));
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
                self.snapshots.copies.push(InboxCopy { inbox: owner.to_owned(), seen_at: at, entry });
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
