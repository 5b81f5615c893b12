//! The recorded tasks of a run, at a moment or in their last state.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::archive::Archive;
use crate::model::Tool;
use crate::team::Task;
use crate::timeline::{Kind, RunData, state};

/// A recorded task.
#[derive(Debug, Clone, PartialEq)]
pub struct RestorableTask {
    /// Its id in the run, or `list/id` for a task of an additional list (`/clear` creates one).
    pub key: String,
    /// The task.
    pub task: Task,
    /// Whether deleted on purpose.
    pub deleted: bool,
    /// Whether it is known only from tool calls.
    pub from_tools_only: bool,
}

impl RestorableTask {
    /// The additional list that it was in.
    pub fn list(&self) -> Option<&str> {
        self.key.rsplit_once('/').map(|(list, _)| list)
    }

    /// The id in the run for a task of the same list.
    pub fn sibling_key(&self, id: &str) -> String {
        self.list().map_or_else(|| id.to_owned(), |list| format!("{list}/{id}"))
    }
}

/// A run's tasks.
#[derive(Debug, Default)]
pub struct Source {
    /// The readable tasks by their id in the run.
    pub tasks: BTreeMap<String, RestorableTask>,
    /// Task files that were never valid.
    pub unreadable: BTreeSet<String>,
}

impl Source {
    /// Finds them. Without a moment (RFC 3339) each has its last state.
    pub fn of(archive: &Archive, data: &RunData, at: Option<&str>) -> Source {
        let mut source = Source::default();
        let until = |then: &str| at.is_none_or(|at| then <= at);
        for (_, key, task) in data.history.tasks.iter().filter(|(then, ..)| until(then)) {
            match task {
                Some(task) => source.add(key.clone(), task.clone(), false),
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
                    source.add(key, task, true);
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

    fn add(&mut self, key: String, task: Task, from_tools_only: bool) {
        self.tasks.insert(key.clone(), RestorableTask { key, task, deleted: false, from_tools_only });
    }

    /// Task files without a readable state.
    fn find_unreadable(&mut self, archive: &Archive, data: &RunData, at: Option<&str>) {
        let mut whole: BTreeSet<&str> = BTreeSet::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for snapshot in &data.journal.snapshots {
            if at.is_some_and(|at| snapshot.at.as_str() > at) {
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

/// The state that tool calls show of a task without a file.
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
