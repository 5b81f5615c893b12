//! The state of a run at a moment, or the last recorded state of each item.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::departures::Departures;
use super::entry_kind::EntryKind;
use super::history::{inbox_of, owner_of};
use super::run_data::{RunData, spawns};
use crate::archive::{Archive, FileTree};
use crate::json;
use crate::team::{Member, Task, TeamConfig, TeamPath, entries};

/// The output of `show --json`.
#[derive(Debug, Serialize)]
pub struct State {
    /// The run.
    pub run: String,
    /// The moment; `None` for the last state of each item.
    pub at: Option<String>,
    /// `config.json`.
    pub config: Option<Value>,
    /// The members, as in the roster.
    pub members: BTreeMap<String, Value>,
    /// The tasks, by id.
    pub tasks: BTreeMap<String, Value>,
    /// The messages in each inbox.
    pub inboxes: BTreeMap<String, Vec<Value>>,
    /// The items that were gone before the end of the run; empty for a moment.
    pub gone: Departures,
    /// Files that were half-written at the moment, below Claude Code's directory. Their previous content is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub torn: Vec<String>,
}

/// The state at `at` (RFC 3339), or the last recorded state of each item.
pub fn state(archive: &Archive, material: &RunData, at: Option<&str>) -> State {
    let mut state = State {
        run: material.run.run.clone(),
        at: at.map(str::to_owned),
        config: None,
        members: BTreeMap::new(),
        tasks: BTreeMap::new(),
        inboxes: BTreeMap::new(),
        gone: Departures::default(),
        torn: Vec::new(),
    };
    match at {
        Some(at) => state.fill(archive, &material.journal.at(at), material),
        None => state.last(archive, material),
    }
    state
}

impl State {
    /// The files that existed at a moment.
    fn fill(&mut self, archive: &Archive, held: &FileTree, material: &RunData) {
        for (path, file) in held {
            let read = |hash: &Option<String>| archive.objects.get(hash.as_deref()?).ok();
            let Some(mut bytes) = read(&file.object) else { continue };
            if file.torn && path.ends_with(".json") && json::parse_lossy(&bytes).is_none() {
                self.torn.push(path.clone());
                bytes = read(&file.whole).unwrap_or(bytes);
            }
            match TeamPath::of(path) {
                TeamPath::Config => self.roster(&bytes),
                TeamPath::Inbox(file) if file.ends_with(".json") => {
                    let mail = entries(&bytes).into_iter().flatten().map(|entry| entry.raw);
                    let owner = owner_of(inbox_of(file), &material.members);
                    self.inboxes.entry(owner.to_owned()).or_default().extend(mail);
                }
                TeamPath::Task(list, name) if name.ends_with(".json") => {
                    if let Some(task) = Task::parse(name, &bytes).filter(|task| !task.is_tracker()) {
                        self.tasks.insert(material.history.ids.of_task(list, &task), task.raw);
                    }
                }
                _ => {}
            }
        }
    }

    fn roster(&mut self, bytes: &[u8]) {
        self.config = json::parse_lossy(bytes);
        let members = TeamConfig::parse(bytes).unwrap_or_default().members;
        self.members = members.into_iter().map(|member| (member.name, member.raw)).collect();
    }

    /// The last state of each item: members that left, erased tasks and read messages included.
    fn last(&mut self, archive: &Archive, material: &RunData) {
        let history = &material.history;
        let configs = material.journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
        let configs = configs.filter(|change| TeamPath::of(&change.path) == TeamPath::Config);
        for hash in configs.filter_map(|change| change.object.as_deref()) {
            let config = archive.objects.get(hash).ok().and_then(|bytes| json::parse_lossy(&bytes));
            self.config = config.or(self.config.take());
        }
        for (name, Member { raw, .. }) in history.members() {
            self.members.insert(name.to_owned(), raw.clone());
        }
        for (event, spawn) in spawns(&material.events) {
            self.members.entry(spawn.name).or_insert_with(|| event.payload.tool_response().clone());
        }
        for (_, id, task) in &history.tasks {
            if let Some(task) = task.as_ref().filter(|task| !task.is_tracker()) {
                self.tasks.insert(id.clone(), task.raw.clone());
            }
        }
        for copy in &history.copies {
            let inbox = self.inboxes.entry(copy.inbox.clone()).or_default();
            inbox.push(copy.entry.raw.clone());
        }
        self.tool_calls_only(material);
        self.gone = Departures::of(material);
    }

    /// Tasks that no snapshot has, from tool calls.
    fn tool_calls_only(&mut self, material: &RunData) {
        let known: HashSet<String> = self.tasks.keys().cloned().collect();
        for entry in super::tasks::tasks(material) {
            let EntryKind::Task(change) = entry.kind else { continue };
            if known.contains(&change.id) {
                continue;
            }
            let task = self.tasks.entry(change.id.clone()).or_insert_with(|| Value::Object(Map::new()));
            if let (Value::Object(task), Some(status)) = (task, change.to) {
                task.insert("id".to_owned(), Value::String(change.id));
                task.insert("status".to_owned(), Value::String(status.to_string()));
                task.insert("owner".to_owned(), change.owner.map_or(Value::Null, Value::String));
                if let Some(subject) = change.subject {
                    task.insert("subject".to_owned(), Value::String(subject));
                }
            }
        }
    }
}
