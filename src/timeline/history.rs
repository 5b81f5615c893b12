//! What a run's snapshots say: every roster, every state of a task, every message that lay in an inbox.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use super::ids::TaskIds;
use crate::archive::{Archive, Journal, Snapshot};
use crate::clock::{self, Time};
use crate::team::{Entry, Task, TeamConfig, fresh_entries, mailbox};

/// A run's files through time, parsed. A state that is torn or lost is left out; the one before it stands.
#[derive(Debug, Default)]
pub struct History {
    /// Rosters, by when they were first seen.
    pub rosters: Vec<(String, TeamConfig)>,
    /// States of tasks: when, id, state; `None` when the file had gone.
    pub tasks: Vec<(String, String, Option<Task>)>,
    /// Messages that lay in inboxes, each once.
    pub copies: Vec<Copy>,
    /// When the team's directory appeared and disappeared.
    pub presence: Vec<(String, bool)>,
    /// The ids of tasks.
    pub ids: TaskIds,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// A message as one inbox held it.
#[derive(Debug, Clone, PartialEq)]
pub struct Copy {
    /// Whose inbox.
    pub inbox: String,
    /// When it was first seen there, RFC 3339, by our clock.
    pub seen_at: String,
    /// The message.
    pub entry: Entry,
}

/// What a path below the client's directory is.
pub(super) enum File<'a> {
    /// `teams/<team>/config.json`
    Config,
    /// `teams/<team>/inboxes/<agent>.json`, also while it is being written beside it.
    Inbox(&'a str),
    /// `tasks/<list>/<n>.json`: the list and the file's name.
    Task(&'a str, &'a str),
    /// Anything else.
    Other,
}

impl File<'_> {
    /// Reads a path.
    pub fn of(path: &str) -> File<'_> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["teams", _, "config.json"] => File::Config,
            ["teams", _, "inboxes", name] => File::Inbox(name.split(".json").next().unwrap_or(name)),
            ["tasks", list, name] if name.ends_with(".json") => File::Task(list, name),
            _ => File::Other,
        }
    }
}

impl History {
    /// Reads a journal's objects, each once. `list` is the run's own task list, `created` when its team was made.
    pub fn read(
        archive: &Archive,
        journal: &Journal,
        list: Option<&str>,
        ids: TaskIds,
        created: Option<&str>,
    ) -> History {
        let mut reading = Reading {
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
            reading.take(snapshot, list);
        }
        reading.history
    }

    /// Says whose the inboxes are, as far as these names tell: a file is named for its owner, not by the name itself.
    pub(super) fn name_inboxes(&mut self, names: &[String]) {
        let mut owners: HashMap<String, String> = HashMap::new();
        for copy in &mut self.copies {
            let file = std::mem::take(&mut copy.inbox);
            let owner = owners.entry(file).or_insert_with_key(|file| owner_of(file, names).to_owned());
            copy.inbox.clone_from(owner);
        }
    }

    /// Everybody who was ever in the team, with the latest that its roster said.
    pub fn members(&self) -> BTreeMap<&str, &crate::team::Member> {
        let members = self.rosters.iter().flat_map(|(_, roster)| &roster.members);
        members.map(|member| (member.name.as_str(), member)).collect()
    }
}

struct Reading<'a> {
    archive: &'a Archive,
    /// When the team was made, by the client's clock.
    created: Option<Time>,
    /// Trackers in a list beside the team's own, where they have the numbers of its tasks.
    trackers: HashSet<String>,
    /// Objects that cannot be read or are nothing that can be told.
    unread: HashSet<String>,
    /// States of inboxes that were read: they hold nothing that is new.
    read: HashSet<(String, String)>,
    /// Messages that were read, by inbox: as the file has them, and as they are.
    known: HashMap<String, HashSet<u64>>,
    hasher: RandomState,
    history: History,
}

impl Reading<'_> {
    fn take(&mut self, snapshot: &Snapshot, list: Option<&str>) {
        let at = &snapshot.at;
        if let Some(there) = snapshot.team_dir {
            self.history.presence.push((at.clone(), there));
        }
        for change in &snapshot.changed {
            let file = File::of(&change.path);
            let Some(hash) = &change.object else { continue };
            let is_known = match file {
                File::Inbox(owner) => !self.read.insert((owner.to_owned(), hash.clone())),
                File::Other => true,
                File::Config | File::Task(..) => false,
            };
            if is_known || self.unread.contains(hash) {
                continue;
            }
            let told = match self.archive.objects.get(hash) {
                Ok(bytes) => self.tell(&change.path, at, &bytes, list).ok_or_else(|| {
                    let what = format!("{} is no JSON of its kind in the state of {at}", change.path);
                    // What is still being written beside its place says nothing yet.
                    (!change.torn && change.path.ends_with(".json"))
                        .then(|| format!("{what}; that state is left out"))
                }),
                Err(error) => {
                    Err(Some(format!("{error}; without it that state is left out: a backup may have it")))
                }
            };
            if let Err(problem) = told {
                self.unread.insert(hash.clone());
                self.history.problems.extend(problem);
            }
        }
        for path in &snapshot.gone {
            if let File::Task(dir, name) = File::of(path) {
                let id = name.trim_end_matches(".json");
                let id = match self.trackers.contains(path) {
                    true => format!("{dir}/{id}"),
                    false => self.history.ids.of_file(dir, id),
                };
                self.history.tasks.push((at.clone(), id, None));
            }
        }
    }

    /// Takes what a file's state says; `None` when it says nothing.
    fn tell(&mut self, path: &str, at: &str, bytes: &[u8], list: Option<&str>) -> Option<()> {
        match File::of(path) {
            File::Config => self.history.rosters.push((at.to_owned(), TeamConfig::parse(bytes)?)),
            File::Inbox(owner) => self.inbox(owner, at, bytes, self.since(path, list))?,
            File::Task(dir, name) => {
                let task = Task::parse(name, bytes)?;
                self.history.ids.see(dir, &task);
                let id = self.history.ids.of_task(dir, &task);
                if task.internal && list != Some(dir) {
                    self.trackers.insert(path.to_owned());
                }
                self.history.tasks.push((at.to_owned(), id, Some(task)));
            }
            File::Other => {}
        }
        Some(())
    }

    /// Since when mail in a directory is this run's: one beside the team's own outlives it.
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
                self.history.copies.push(Copy { inbox: owner.to_owned(), seen_at: at.to_owned(), entry });
            }
        }
        Some(())
    }
}

/// Whose an inbox is; the file's own name where that is nobody's, or that of several.
pub(super) fn owner_of<'a>(file: &'a str, names: &'a [String]) -> &'a str {
    let mut owners = names.iter().filter(|name| mailbox(name) == file);
    match (owners.next(), owners.next()) {
        (Some(owner), None) => owner,
        _ => file,
    }
}
