//! The recorded tasks of a run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use teamkeep_history::timeline::{LoadedEvent, RunData, held_until_shutdown, state};
use teamkeep_model::team::Task;
use teamkeep_model::time::Timestamp;
use teamkeep_model::{TaskStatus, Tool};
use teamkeep_store::archive::Archive;

#[derive(Debug, Clone, PartialEq)]
pub struct RestorableTask {
    /// Its id in the run, or `list/id` for a task of an additional list (`/clear` creates one).
    pub key: String,
    pub task: Task,
    pub deleted: bool,
    pub from_tools_only: bool,
    /// Its status and its owner until the owner's shutdown, at which Claude Code returned it to pending.
    pub until_shutdown: Option<(TaskStatus, String)>,
}

impl RestorableTask {
    fn new(key: &str, task: Task) -> RestorableTask {
        RestorableTask {
            key: key.to_owned(),
            task,
            deleted: false,
            from_tools_only: false,
            until_shutdown: None,
        }
    }

    pub fn list(&self) -> Option<&str> {
        self.key.rsplit_once('/').map(|(list, _)| list)
    }
}

#[derive(Debug, Default)]
pub struct RestoreSource {
    pub tasks: BTreeMap<String, RestorableTask>,
    /// The paths of task files without a complete state.
    pub unreadable: BTreeSet<String>,
}

impl RestoreSource {
    /// Finds them. Without a moment each has its last state.
    pub fn of(archive: &Archive, data: &RunData, at: Option<Timestamp>) -> RestoreSource {
        let mut source =
            RestoreSource { unreadable: unreadable(archive, data, at), ..RestoreSource::default() };
        for (then, key, task) in &data.snapshots.tasks {
            match task {
                _ if at.is_some_and(|at| *then > at) => {}
                Some(task) => {
                    source.tasks.insert(key.clone(), RestorableTask::new(key, task.clone()));
                }
                None if at.is_some() => drop(source.tasks.remove(key)),
                None => {}
            }
        }
        if at.is_none() {
            let last = state(archive, data, None);
            for (key, raw) in last.tasks {
                let text = raw.to_string();
                if !source.tasks.contains_key(&key)
                    && let Some(task) = Task::parse(&format!("{key}.json"), text.as_bytes())
                {
                    let task = Task { raw: with_creation_call(data, &task), ..task };
                    let recorded = RestorableTask::new(&key, task);
                    source.tasks.insert(key, RestorableTask { from_tools_only: true, ..recorded });
                }
            }
            for (key, removal) in last.gone.tasks {
                if let Some(recorded) = source.tasks.get_mut(&key) {
                    recorded.deleted = removal.is_deletion;
                }
            }
        }
        for (key, held) in held_until_shutdown(data, at) {
            if let Some(recorded) = source.tasks.get_mut(&key) {
                recorded.until_shutdown = Some(held);
            }
        }
        source.tasks.retain(|_, recorded| !recorded.task.internal);
        source
    }
}

fn unreadable(archive: &Archive, data: &RunData, at: Option<Timestamp>) -> BTreeSet<String> {
    let mut readable: BTreeMap<&str, bool> = BTreeMap::new();
    let snapshots = data.journal.snapshots.iter();
    let snapshots = snapshots.take_while(|snapshot| at.is_none_or(|at| snapshot.at <= at));
    for change in snapshots.flat_map(|snapshot| &snapshot.changed) {
        let name = change.path.strip_prefix("tasks/").and_then(|rest| Some(rest.split_once('/')?.1));
        let Some(name) = name.filter(|name| name.ends_with(".json")) else { continue };
        let bytes = || archive.content(&data.run.run, change.object.as_deref()?).ok();
        let is_readable = readable.entry(&change.path).or_default();
        *is_readable = *is_readable || bytes().is_some_and(|bytes| Task::parse(name, &bytes).is_some());
    }
    let unreadable = readable.into_iter().filter(|(_, is_readable)| !is_readable);
    unreadable.map(|(path, _)| path.to_owned()).collect()
}

/// The JSON of a task that no snapshot has, with the texts of the call that created it.
fn with_creation_call(data: &RunData, task: &Task) -> Value {
    let creates = |event: &&LoadedEvent| {
        let id = event.tool_response().pointer("/task/id").and_then(Value::as_str);
        let key = id.map(|id| data.snapshots.ids.of_event(event.task_list(), id));
        event.tool() == Some(Tool::TaskCreate) && key.as_deref() == Some(&task.id)
    };
    let input = data.events.iter().rfind(creates).map(|event| event.tool_input());
    let mut raw = Map::from_iter([("id".to_owned(), json!(task.id))]);
    for fields in [input, Some(&task.raw)] {
        let fields = fields.and_then(Value::as_object).into_iter().flatten();
        raw.extend(fields.map(|(key, value)| (key.clone(), value.clone())));
    }
    Value::Object(raw)
}
