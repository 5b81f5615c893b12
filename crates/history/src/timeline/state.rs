//! The state of a run at a moment, or the last recorded state of each item, and the changes between two moments.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::run_data::{RunData, spawns};
use super::snapshots::owner_of;
use super::{lifecycle, state_after, tasks};
use teamkeep_model::json;
use teamkeep_model::team::{Flaw, Task, TeamConfig, TeamPath, entries, inbox_owner};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{LiveState, Removal};
use teamkeep_store::archive::{Archive, FileTree};

#[derive(Debug, Serialize)]
pub struct State {
    pub run: String,
    /// The moment; `None` for the last state of each item.
    pub at: Option<Timestamp>,
    pub config: Option<Value>,
    pub members: BTreeMap<String, Value>,
    pub tasks: BTreeMap<String, Value>,
    pub inboxes: BTreeMap<String, Vec<Value>>,
    /// The items that were gone before the end of the run; empty for a moment.
    pub gone: Departures,
    /// Files that were half-written at the moment, below Claude Code's directory. Their previous content is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub torn: Vec<String>,
    /// Files that Claude Code could not read at the moment, with the reason: they had no complete content until then, or
    /// another kind of value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "paths")]
    pub invalid: BTreeMap<String, &'static str>,
}

fn paths<S: Serializer>(files: &BTreeMap<String, &'static str>, out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(files.keys())
}

pub fn state(archive: &Archive, data: &RunData, at: Option<Timestamp>) -> State {
    let mut state = State {
        run: data.run.run.clone(),
        at,
        config: None,
        members: BTreeMap::new(),
        tasks: BTreeMap::new(),
        inboxes: BTreeMap::new(),
        gone: Departures::default(),
        torn: Vec::new(),
        invalid: BTreeMap::new(),
    };
    match at {
        Some(at) => state.fill(archive, &data.journal.at(at), data),
        None => state.last(archive, data),
    }
    state
}

impl State {
    fn fill(&mut self, archive: &Archive, held: &FileTree, data: &RunData) {
        for (path, file) in held {
            let read = |hash: &Option<String>| archive.content(&self.run, hash.as_deref()?).ok();
            let Some(mut bytes) = read(&file.object) else { continue };
            if let Some(flaw) = Flaw::of(path, &bytes) {
                match read(&file.whole).filter(|_| file.torn) {
                    Some(whole) => {
                        self.torn.push(path.clone());
                        bytes = whole;
                    }
                    None => {
                        self.invalid.insert(path.clone(), flaw.text());
                        continue;
                    }
                }
            }
            match TeamPath::of(path) {
                TeamPath::Config => self.roster(&bytes),
                TeamPath::Inbox(file) if file.ends_with(".json") => {
                    let mail = entries(&bytes).into_iter().flatten().map(|entry| entry.raw);
                    let owner = owner_of(inbox_owner(file), &data.members);
                    self.inboxes.entry(owner.to_owned()).or_default().extend(mail);
                }
                TeamPath::Task(list, name) if name.ends_with(".json") => {
                    if let Some(task) = Task::parse(name, &bytes).filter(|task| !task.is_tracker()) {
                        self.tasks.insert(data.snapshots.ids.of_task(list, &task), task.raw);
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
    fn last(&mut self, archive: &Archive, data: &RunData) {
        let snapshots = &data.snapshots;
        let configs = data.journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
        let configs = configs.filter(|change| TeamPath::of(&change.path) == TeamPath::Config);
        for hash in configs.filter_map(|change| change.object.as_deref()) {
            let config = archive.content(&self.run, hash).ok().and_then(|bytes| json::parse_lossy(&bytes));
            self.config = config.or(self.config.take());
        }
        let members = snapshots.members().into_iter();
        self.members = members.map(|(name, member)| (name.to_owned(), member.raw.clone())).collect();
        for (event, spawn) in spawns(&data.events) {
            self.members.entry(spawn.name).or_insert_with(|| event.tool_response().clone());
        }
        for (_, id, task) in &snapshots.tasks {
            if let Some(task) = task.as_ref().filter(|task| !task.is_tracker()) {
                self.tasks.insert(id.clone(), task.raw.clone());
            }
        }
        for copy in &snapshots.copies {
            let inbox = self.inboxes.entry(copy.inbox.clone()).or_default();
            inbox.push(copy.entry.raw.clone());
        }
        let mut entries = lifecycle::team(data);
        entries.extend(tasks::tasks(data));
        entries.sort_by_key(|one| one.at);
        let team = state_after(&entries);
        // Tasks that no snapshot has, from tool calls.
        for (id, task) in &team.tasks {
            let raw = || {
                let mut raw = json!({"id": id, "status": task.status, "owner": task.owner});
                task.subject.iter().for_each(|subject| raw["subject"] = json!(subject));
                raw
            };
            self.tasks.entry(id.clone()).or_insert_with(raw);
        }
        self.gone = Departures::of(team);
    }
}

/// A member that returned and a task that was created again are not gone.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Departures {
    pub members: BTreeMap<String, Timestamp>,
    #[serde(serialize_with = "write_times")]
    pub tasks: BTreeMap<String, Removal>,
}

impl Departures {
    fn of(team: LiveState) -> Departures {
        let left = team.roster.into_iter().filter_map(|member| Some((member.name, member.stays.last()?.1?)));
        let removed = team.tasks.into_iter().filter_map(|(id, task)| Some((id, task.removed?)));
        Departures { members: left.collect(), tasks: removed.collect() }
    }
}

fn write_times<S: Serializer>(removals: &BTreeMap<String, Removal>, out: S) -> Result<S::Ok, S::Error> {
    out.collect_map(removals.iter().map(|(id, removal)| (id, removal.at)))
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Diff {
    pub run: String,
    pub from: Timestamp,
    pub to: Timestamp,
    /// Tasks by id, without the trackers of 2.1.47.
    pub tasks: Things,
    pub members: Things,
    pub mail: Mail,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Things {
    pub new: BTreeMap<String, Value>,
    pub gone: BTreeMap<String, Value>,
    /// Items that exist at both: the changes, by field.
    pub changed: BTreeMap<String, BTreeMap<&'static str, FieldChange>>,
    #[serde(skip)]
    pub titles: BTreeMap<String, String>,
}

/// The values of a field at two moments; null if missing.
#[derive(Debug, PartialEq, Serialize)]
pub struct FieldChange {
    pub from: Value,
    pub to: Value,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Mail {
    pub new: BTreeMap<String, Vec<Value>>,
    pub read: BTreeMap<String, Vec<Value>>,
    /// Only at the earlier moment: current versions of Claude Code remove delivered messages.
    pub gone: BTreeMap<String, Vec<Value>>,
}

/// The fields of a task: name in the output, name in the file.
const OF_TASKS: &[(&str, &str)] = &[
    ("status", "status"),
    ("owner", "owner"),
    ("subject", "subject"),
    ("description", "description"),
    ("blocked_by", "blockedBy"),
];
const OF_MEMBERS: &[(&str, &str)] = &[("active", "isActive")];

pub fn diff(from: &State, to: &State) -> Diff {
    let at = |state: &State| state.at.unwrap_or_default();
    Diff {
        run: to.run.clone(),
        from: at(from),
        to: at(to),
        tasks: things(&from.tasks, &to.tasks, OF_TASKS),
        members: things(&from.members, &to.members, OF_MEMBERS),
        mail: mail(from, to),
    }
}

impl Diff {
    pub fn is_empty(&self) -> bool {
        let same =
            |things: &Things| things.new.is_empty() && things.gone.is_empty() && things.changed.is_empty();
        let Mail { new, read, gone } = &self.mail;
        same(&self.tasks) && same(&self.members) && [new, read, gone].iter().all(|mail| mail.is_empty())
    }
}

fn things(
    from: &BTreeMap<String, Value>,
    to: &BTreeMap<String, Value>,
    fields: &[(&'static str, &str)],
) -> Things {
    let is_tracker = |item: &Value| item.pointer("/metadata/_internal") == Some(&Value::Bool(true));
    let mut things = Things::default();
    for (name, now) in to.iter().filter(|(_, thing)| !is_tracker(thing)) {
        let Some(then) = from.get(name) else {
            things.new.insert(name.clone(), now.clone());
            continue;
        };
        let changes: BTreeMap<&str, FieldChange> = fields
            .iter()
            .map(|(ours, theirs)| (*ours, FieldChange { from: field(then, theirs), to: field(now, theirs) }))
            .filter(|(_, change)| change.from != change.to)
            .collect();
        if !changes.is_empty() {
            things.changed.insert(name.clone(), changes);
            let title = now.get("subject").and_then(Value::as_str).unwrap_or_default();
            things.titles.insert(name.clone(), title.to_owned());
        }
    }
    let gone = from.iter().filter(|(name, thing)| !to.contains_key(*name) && !is_tracker(thing));
    things.gone = gone.map(|(name, thing)| (name.clone(), thing.clone())).collect();
    things
}

/// A field of an item; null if missing. No owner is written as a missing key, null or an empty string.
fn field(item: &Value, key: &str) -> Value {
    let value = item.get(key).filter(|value| value.as_str() != Some(""));
    value.cloned().unwrap_or(Value::Null)
}

fn identity(message: &Value) -> [Option<&str>; 4] {
    ["msg_id", "from", "timestamp", "text"].map(|key| message.get(key).and_then(Value::as_str))
}

fn mail(from: &State, to: &State) -> Mail {
    let mut mail = Mail::default();
    let none = Vec::new();
    let inboxes: BTreeSet<&String> = from.inboxes.keys().chain(to.inboxes.keys()).collect();
    for inbox in inboxes {
        let (then, now) = (from.inboxes.get(inbox).unwrap_or(&none), to.inboxes.get(inbox).unwrap_or(&none));
        let mut left: HashMap<_, Vec<&Value>> = HashMap::new();
        then.iter().rev().for_each(|message| left.entry(identity(message)).or_default().push(message));
        let put = |part: &mut BTreeMap<String, Vec<Value>>, message: &Value| {
            part.entry(inbox.clone()).or_default().push(message.clone());
        };
        let is_read = |message: &Value| message.get("read") == Some(&Value::Bool(true));
        for message in now {
            match left.get_mut(&identity(message)).and_then(Vec::pop) {
                None => put(&mut mail.new, message),
                Some(before) if is_read(message) && !is_read(before) => put(&mut mail.read, message),
                Some(_) => {}
            }
        }
        for message in then {
            if left.get_mut(&identity(message)).and_then(Vec::pop).is_some() {
                put(&mut mail.gone, message);
            }
        }
    }
    mail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(tasks: Value, members: Value, inboxes: Value) -> State {
        State {
            run: "r".to_owned(),
            at: None,
            config: None,
            members: serde_json::from_value(members).unwrap(),
            tasks: serde_json::from_value(tasks).unwrap(),
            inboxes: serde_json::from_value(inboxes).unwrap(),
            gone: Departures::default(),
            torn: Vec::new(),
            invalid: BTreeMap::new(),
        }
    }

    #[test]
    fn two_moments_differ_in_what_came_what_went_and_what_changed() {
        let tracker = json!({"metadata": {"_internal": true}});
        let hi = |read: bool| json!({"from": "bob", "text": "hi", "timestamp": "t", "read": read});
        let from = state(
            json!({"1": {"status": "pending"}, "2": {"status": "pending", "owner": ""}, "9": tracker}),
            json!({"alice": {"isActive": true}, "bob": {}}),
            json!({"alice": [hi(false), {"from": "bob", "text": "old"}]}),
        );
        let to = state(
            json!({"2": {"status": "in_progress", "owner": "bob", "subject": "S"}, "3": {}, "8": tracker}),
            json!({"alice": {"isActive": false}, "carol": {}}),
            json!({"alice": [hi(true), hi(true)]}),
        );
        let told = serde_json::to_value(diff(&from, &to)).unwrap();
        assert_eq!(
            told["tasks"],
            json!({"new": {"3": {}}, "gone": {"1": {"status": "pending"}}, "changed": {"2": {
                "owner": {"from": null, "to": "bob"},
                "status": {"from": "pending", "to": "in_progress"},
                "subject": {"from": null, "to": "S"},
            }}})
        );
        assert_eq!(
            told["members"],
            json!({"new": {"carol": {}}, "gone": {"bob": {}}, "changed": {"alice": {"active": {"from": true, "to": false}}}})
        );
        let old = json!({"from": "bob", "text": "old"});
        assert_eq!(
            told["mail"],
            json!({"new": {"alice": [hi(true)]}, "read": {"alice": [hi(true)]}, "gone": {"alice": [old]}})
        );
        assert!(!diff(&from, &to).is_empty() && diff(&to, &to).is_empty());
    }
}
