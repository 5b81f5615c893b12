//! The parsed snapshots of a run: every roster, every state of a task, every message in an inbox.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use super::ids::TaskIds;
use crate::archive::{Archive, Journal, Snapshot};
use crate::clock::{self, Time};
use crate::team::{Entry, Task, TeamConfig, TeamPath, fresh_entries, mailbox};

/// A run's files over time, parsed. A torn or lost state is skipped, and the one before it stays.
#[derive(Debug, Default)]
pub struct History {
    /// Rosters with the time they were first seen.
    pub rosters: Vec<(String, TeamConfig)>,
    /// States of tasks: time, id, state; `None` if the file was gone.
    pub tasks: Vec<(String, String, Option<Task>)>,
    /// Messages in inboxes, each once.
    pub copies: Vec<Sighting>,
    /// When the team's directory appeared and disappeared.
    pub presence: Vec<(String, bool)>,
    /// The ids of tasks.
    pub ids: TaskIds,
    /// Unreadable objects.
    pub problems: Vec<String>,
}

/// A message in an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Sighting {
    /// The owner of the inbox.
    pub inbox: String,
    /// When it was first seen there, RFC 3339, by teamkeep's clock.
    pub seen_at: String,
    /// The message.
    pub entry: Entry,
}

/// The owner of an inbox, from its file name. A temporary file has more after `.json`.
pub(super) fn inbox_of(file: &str) -> &str {
    file.split(".json").next().unwrap_or(file)
}

impl History {
    /// Reads a journal's objects, each once. `list` is the run's own task list, `created` the time when its team was
    /// created.
    pub fn read(
        archive: &Archive,
        journal: &Journal,
        list: Option<&str>,
        ids: TaskIds,
        created: Option<&str>,
    ) -> History {
        let mut reader = HistoryReader {
            archive,
            created: created.and_then(clock::parse),
            trackers: HashSet::new(),
            unread: HashSet::new(),
            read: HashSet::new(),
            known: HashMap::new(),
            hasher: RandomState::new(),
            history: History { ids, ..History::default() },
        };
        for snapshot in &journal.snapshots {
            reader.add(snapshot, list);
        }
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

    /// All members ever, each with its latest roster entry.
    pub fn members(&self) -> BTreeMap<&str, &crate::team::Member> {
        let members = self.rosters.iter().flat_map(|(_, roster)| &roster.members);
        members.map(|member| (member.name.as_str(), member)).collect()
    }
}

struct HistoryReader<'a> {
    archive: &'a Archive,
    /// When the team was created, by Claude Code's clock.
    created: Option<Time>,
    /// Trackers in another list that have the same numbers as the team's tasks.
    trackers: HashSet<String>,
    /// Objects that cannot be read or parsed.
    unread: HashSet<String>,
    /// Inbox states that were read.
    read: HashSet<(String, String)>,
    /// Messages that were read, by inbox: as in the file, and as parsed.
    known: HashMap<String, HashSet<u64>>,
    hasher: RandomState,
    history: History,
}

impl HistoryReader<'_> {
    fn add(&mut self, snapshot: &Snapshot, list: Option<&str>) {
        let at = &snapshot.at;
        if let Some(there) = snapshot.team_dir {
            self.history.presence.push((at.clone(), there));
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
            let read = match self.archive.objects.get(hash) {
                Ok(bytes) => self.parse(&change.path, at, &bytes, list).ok_or_else(|| {
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
                self.history.tasks.push((at.clone(), id, None));
            }
        }
    }

    /// Reads a state of a file; `None` if it has no information.
    fn parse(&mut self, path: &str, at: &str, bytes: &[u8], list: Option<&str>) -> Option<()> {
        match TeamPath::of(path) {
            TeamPath::Config => self.history.rosters.push((at.to_owned(), TeamConfig::parse(bytes)?)),
            TeamPath::Inbox(file) => self.inbox(inbox_of(file), at, bytes, self.since(path, list))?,
            TeamPath::Task(dir, name) => {
                let task = Task::parse(name, bytes)?;
                self.history.ids.see(dir, &task);
                let id = self.history.ids.of_task(dir, &task);
                if task.internal && list != Some(dir) {
                    self.trackers.insert(path.to_owned());
                }
                self.history.tasks.push((at.to_owned(), id, Some(task)));
            }
            _ => {}
        }
        Some(())
    }

    /// The time from which messages in a directory belong to this run: a second directory of the team outlives it.
    fn since(&self, path: &str, list: Option<&str>) -> Option<Time> {
        let outlives = list.is_some_and(|team| path.split('/').nth(1) != Some(team));
        self.created.filter(|_| outlives)
    }

    fn inbox(&mut self, owner: &str, at: &str, bytes: &[u8], since: Option<Time>) -> Option<()> {
        let known = self.known.entry(owner.to_owned()).or_default();
        let hasher = &self.hasher;
        for entry in fresh_entries(bytes, |raw| known.insert(hasher.hash_one(raw)))? {
            let sent = entry.timestamp.as_deref().and_then(clock::parse);
            let is_older = sent.zip(since).is_some_and(|(sent, since)| sent < since);
            if known.insert(hasher.hash_one(entry.identity())) && !is_older {
                self.history.copies.push(Sighting { inbox: owner.to_owned(), seen_at: at.to_owned(), entry });
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
