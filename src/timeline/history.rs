//! What a run's snapshots say: every roster, every state of a task, every message that lay in an inbox.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::archive::{Archive, Journal, Snapshot};
use crate::event::SafeName;
use crate::team::{Entry, Task, TeamConfig, entries};

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
    /// Reads a journal's objects, each once. `list` is the run's own task list.
    pub fn read(archive: &Archive, journal: &Journal, list: Option<&SafeName>) -> History {
        let mut reading =
            Reading { archive, objects: HashMap::new(), seen: HashSet::new(), history: History::default() };
        for snapshot in &journal.snapshots {
            reading.take(snapshot, list.map(SafeName::as_str));
        }
        reading.history
    }

    /// Everybody who was ever in the team, with the latest that its roster said.
    pub fn members(&self) -> BTreeMap<&str, &crate::team::Member> {
        let members = self.rosters.iter().flat_map(|(_, roster)| &roster.members);
        members.map(|member| (member.name.as_str(), member)).collect()
    }
}

struct Reading<'a> {
    archive: &'a Archive,
    objects: HashMap<String, Option<Vec<u8>>>,
    seen: HashSet<(String, String)>,
    history: History,
}

impl Reading<'_> {
    fn take(&mut self, snapshot: &Snapshot, list: Option<&str>) {
        let at = &snapshot.at;
        if let Some(there) = snapshot.team_dir {
            self.history.presence.push((at.clone(), there));
        }
        for change in &snapshot.changed {
            let Some(hash) = &change.object else { continue };
            let Some(bytes) = self.object(hash) else { continue };
            match File::of(&change.path) {
                File::Config => {
                    if let Some(config) = TeamConfig::parse(&bytes) {
                        self.history.rosters.push((at.clone(), config));
                    }
                }
                File::Inbox(owner) => self.inbox(owner, at, &bytes),
                File::Task(dir, name) => {
                    if let Some(task) = Task::parse(name, &bytes) {
                        let id = task_id(list, dir, &task.id);
                        self.history.tasks.push((at.clone(), id, Some(task)));
                    }
                }
                File::Other => {}
            }
        }
        for path in &snapshot.gone {
            if let File::Task(dir, name) = File::of(path) {
                let id = task_id(list, dir, name.trim_end_matches(".json"));
                self.history.tasks.push((at.clone(), id, None));
            }
        }
    }

    fn inbox(&mut self, owner: &str, at: &str, bytes: &[u8]) {
        for entry in entries(bytes) {
            let identity = format!("{:?}", entry.identity());
            if self.seen.insert((owner.to_owned(), identity)) {
                self.history.copies.push(Copy { inbox: owner.to_owned(), seen_at: at.to_owned(), entry });
            }
        }
    }

    fn object(&mut self, hash: &str) -> Option<Vec<u8>> {
        if !self.objects.contains_key(hash) {
            let read = self.archive.objects.get(hash);
            let bytes = read.map_err(|error| self.history.problems.push(error.to_string())).ok();
            self.objects.insert(hash.to_owned(), bytes);
        }
        self.objects.get(hash).cloned().flatten()
    }
}

/// A task's id; one of a further list (`/clear` makes one) carries the list's name.
pub(super) fn task_id(own: Option<&str>, list: &str, id: &str) -> String {
    if own.is_none_or(|own| own == list) { id.to_owned() } else { format!("{list}/{id}") }
}
