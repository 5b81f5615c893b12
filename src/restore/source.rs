//! The recorded tasks of a run, the numbers that they get in a list, and the references between them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::task_list::{MAX_TASK_ID, TaskList};
use crate::timeline::{Kind, RunData, state};
use teamkeep_core::client::team::Task;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::Tool;
use teamkeep_core::store::archive::Archive;
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub struct RestorableTask {
    /// Its id in the run, or `list/id` for a task of an additional list (`/clear` creates one).
    pub key: String,
    pub task: Task,
    pub deleted: bool,
    pub from_tools_only: bool,
}

impl RestorableTask {
    fn new(key: String, task: Task) -> RestorableTask {
        RestorableTask { key, task, deleted: false, from_tools_only: false }
    }

    pub fn list(&self) -> Option<&str> {
        self.key.rsplit_once('/').map(|(list, _)| list)
    }

    pub fn sibling_key(&self, id: &str) -> String {
        self.list().map_or_else(|| id.to_owned(), |list| format!("{list}/{id}"))
    }
}

#[derive(Debug, Default)]
pub struct Source {
    pub tasks: BTreeMap<String, RestorableTask>,
    pub unreadable: BTreeSet<String>,
}

impl Source {
    /// Finds them. Without a moment each has its last state.
    pub fn of(archive: &Archive, data: &RunData, at: Option<Timestamp>) -> Source {
        let mut source = Source::default();
        let until = |then: Timestamp| at.is_none_or(|at| then <= at);
        for (_, key, task) in data.history.tasks.iter().filter(|(then, ..)| until(*then)) {
            match task {
                Some(task) => {
                    source.tasks.insert(key.clone(), RestorableTask::new(key.clone(), task.clone()));
                }
                None if at.is_some() => drop(source.tasks.remove(key)),
                None => {}
            }
        }
        if at.is_none() {
            let last = state(archive, data, None);
            for (key, raw) in last.tasks {
                let known = source.tasks.contains_key(&key);
                let text = raw.to_string();
                if let Some(task) = Task::parse(&format!("{key}.json"), text.as_bytes()).filter(|_| !known) {
                    let task = Task { raw: task_from_calls(data, &task), ..task };
                    let recorded = RestorableTask::new(key.clone(), task);
                    source.tasks.insert(key, RestorableTask { from_tools_only: true, ..recorded });
                }
            }
            for (key, removal) in last.gone.removals {
                if let Some(recorded) = source.tasks.get_mut(&key) {
                    recorded.deleted = removal.kind() == Kind::TaskDeleted;
                }
            }
        }
        source.find_unreadable(archive, data, at);
        source.tasks.retain(|_, recorded| !recorded.task.internal);
        source
    }

    fn find_unreadable(&mut self, archive: &Archive, data: &RunData, at: Option<Timestamp>) {
        let mut whole: BTreeSet<&str> = BTreeSet::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for snapshot in &data.journal.snapshots {
            if at.is_some_and(|at| snapshot.at > at) {
                break;
            }
            for change in &snapshot.changed {
                let name = change.path.strip_prefix("tasks/").and_then(|rest| rest.split_once('/'));
                let Some((_, name)) = name.filter(|(_, name)| name.ends_with(".json")) else { continue };
                seen.insert(&change.path);
                let bytes = || change.object.as_deref().and_then(|hash| archive.objects.get(hash).ok());
                if !whole.contains(change.path.as_str())
                    && bytes().is_some_and(|bytes| Task::parse(name, &bytes).is_some())
                {
                    whole.insert(&change.path);
                }
            }
        }
        self.unreadable = seen.difference(&whole).map(|path| (*path).to_owned()).collect();
    }
}

fn task_from_calls(data: &RunData, task: &Task) -> Value {
    let calls = data.events.iter().filter(|event| event.payload.tool() == Some(Tool::TaskCreate));
    let made = calls
        .filter(|event| {
            let id = event.payload.tool_response().pointer("/task/id");
            let id = id.and_then(Value::as_str);
            let called = id.map(|id| data.history.ids.of_event(event.task_list.as_deref(), id));
            called.as_deref() == Some(task.id.as_str())
        })
        .map(|event| event.payload.tool_input())
        .next_back();
    let mut raw = Map::new();
    raw.insert("id".to_owned(), json!(task.id));
    for (key, value) in made.and_then(Value::as_object).into_iter().flatten() {
        raw.insert(key.clone(), value.clone());
    }
    for (key, value) in task.raw.as_object().into_iter().flatten() {
        raw.insert(key.clone(), value.clone());
    }
    Value::Object(raw)
}

/// A larger number is not kept, because Claude Code continues from the highest.
const MAX_KEPT_ID: u64 = 999_999_999;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    pub field: &'static str,
    pub task: String,
    pub why: &'static str,
}

/// The known positions of tasks.
#[derive(Debug)]
pub(super) struct Links<'a> {
    pub source: &'a Source,
    pub list_now: &'a TaskList,
    /// Whether the list is the run's own.
    pub own: bool,
    /// The run's id of a task → its number in the list.
    pub restored: BTreeMap<String, String>,
}

impl Links<'_> {
    /// Assigns a number to each task: its own if that is free, else the next after all used ones. In a list that is not
    /// the run's own, numbers up to the mark are used as well, because they belonged to other tasks.
    pub fn allocate_ids(&self, wanted: &[&RestorableTask]) -> Result<Vec<u64>> {
        let mut kept: Vec<Option<u64>> = Vec::new();
        for recorded in wanted {
            let id = &recorded.task.id;
            // Claude Code's spelling of a number.
            let number = id.parse().ok().filter(|number: &u64| number.to_string() == *id);
            let number = number.filter(|number| (1..=MAX_KEPT_ID).contains(number)).filter(|number| {
                let was_its = self.own && recorded.list().is_none();
                !self.list_now.has(*number)
                    && (was_its || *number > self.list_now.mark())
                    && !kept.contains(&Some(*number))
            });
            kept.push(number);
        }
        let mut last = kept.iter().flatten().copied().fold(self.list_now.read_highwatermark(), u64::max);
        if last > MAX_TASK_ID - kept.len() as u64 {
            return Err(Error::new(format!("the list has used the ID {last}, and there is no higher one"))
                .hint("choose another list"));
        }
        let mut next = || {
            last += 1;
            last
        };
        Ok(kept.into_iter().map(|id| id.unwrap_or_else(&mut next)).collect())
    }

    pub fn note_id(&mut self, recorded: &RestorableTask, id: &str) {
        self.restored.insert(recorded.key.clone(), id.to_owned());
    }

    pub fn has_same(&self, recorded: &RestorableTask) -> bool {
        let now = self.list_now.tasks.get(&recorded.task.id).and_then(Option::as_ref);
        self.own && recorded.list().is_none() && now.is_some_and(|now| now.subject == recorded.task.subject)
    }

    /// The referenced tasks by their numbers in the list; unknown references are dropped.
    pub fn remap_links(
        &self,
        recorded: &RestorableTask,
        field: &'static str,
        dropped: &mut Vec<Dropped>,
    ) -> Vec<String> {
        let mut mapped: Vec<String> = Vec::new();
        for id in recorded.task.ids(field) {
            let key = recorded.sibling_key(&id);
            match self.restored.get(&key) {
                // A task does not depend on itself, and each dependency is listed once.
                _ if key == recorded.key => {}
                Some(id) if mapped.contains(id) => {}
                Some(id) => mapped.push(id.clone()),
                None => dropped.push(Dropped { field, task: key.clone(), why: self.drop_reason(&key) }),
            }
        }
        mapped
    }

    fn drop_reason(&self, key: &str) -> &'static str {
        match self.source.tasks.get(key) {
            Some(recorded) if recorded.deleted => "deleted",
            Some(recorded) if recorded.task.is_done() => "already completed",
            Some(_) => "not restored",
            None => "not recorded",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_core::client::team::Task;

    fn recorded(key: &str) -> RestorableTask {
        let id = key.rsplit('/').next().unwrap();
        let task = Task::parse(&format!("{id}.json"), b"{}").unwrap();
        RestorableTask { key: key.to_owned(), task, deleted: false, from_tools_only: false }
    }

    fn given(keys: &[&str], taken: &[u64], mark: u64, own: bool) -> Vec<u64> {
        let recorded_tasks: Vec<RestorableTask> = keys.iter().map(|key| recorded(key)).collect();
        let tasks = taken.iter().map(|id| (id.to_string(), None)).collect();
        let list_now = TaskList { tasks, highwatermark: Some(mark.to_string().into_bytes()) };
        let source = Source::default();
        let links = Links { source: &source, list_now: &list_now, own, restored: BTreeMap::new() };
        links.allocate_ids(&recorded_tasks.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn free_number_is_preserved_and_used_number_is_replaced() {
        assert_eq!(given(&["2", "3"], &[], 0, false), [2, 3]);
        assert_eq!(given(&["1", "2", "3"], &[1, 2], 0, false), [4, 5, 3]);
        assert_eq!(given(&["2", "9"], &[], 3, false), [10, 9], "2 was another task's");
        assert_eq!(given(&["2", "9"], &[], 3, true), [2, 9], "2 was this task's own");
        assert_eq!(given(&["2", "session-x/2"], &[], 0, true), [2, 3]);
        assert_eq!(given(&["x", "007", "0", "99999999999"], &[5], 4, false), [6, 7, 8, 9]);
    }

    #[test]
    fn a_list_without_free_numbers_is_an_error() {
        let list_now =
            TaskList { highwatermark: Some(b"99999999999999999999".to_vec()), ..TaskList::default() };
        let source = Source::default();
        let links = Links { source: &source, list_now: &list_now, own: true, restored: BTreeMap::new() };
        let error = links.allocate_ids(&[&recorded("1")]).unwrap_err();
        assert!(error.to_string().contains("there is no higher one"));
    }
}
