//! Maps the references between tasks.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::source::{RestorableTask, Source};
use super::task_list::TaskList;

/// A dropped reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// `blocks` or `blockedBy`.
    pub field: &'static str,
    /// The referenced task, by its id in the run.
    pub task: String,
    /// The reason.
    pub why: &'static str,
}

/// The known positions of tasks.
#[derive(Debug)]
pub(super) struct Links<'a> {
    source: &'a Source,
    list_now: &'a TaskList,
    own: bool,
    /// The run's id of a task → its number in the list.
    there: BTreeMap<String, String>,
}

impl<'a> Links<'a> {
    pub fn new(source: &'a Source, list_now: &'a TaskList, own: bool) -> Links<'a> {
        Links { source, list_now, own, there: BTreeMap::new() }
    }

    /// Records the number of a task in the list.
    pub fn note_id(&mut self, recorded: &RestorableTask, id: &str) {
        self.there.insert(recorded.key.clone(), id.to_owned());
    }

    /// Whether the list is the run's own and has this very task.
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
        let named =
            recorded.task.raw.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut mapped: Vec<String> = Vec::new();
        for id in named {
            let id = match id {
                Value::String(id) => id.clone(),
                Value::Number(id) => id.to_string(),
                _ => continue,
            };
            let key = recorded.sibling_key(&id);
            match self.there.get(&key) {
                // A task does not depend on itself, and each dependency is listed once.
                _ if key == recorded.key => {}
                Some(there) if mapped.contains(there) => {}
                Some(there) => mapped.push(there.clone()),
                None => dropped.push(Dropped { field, task: key.clone(), why: self.drop_reason(&key) }),
            }
        }
        mapped
    }

    /// Why a reference is dropped.
    fn drop_reason(&self, key: &str) -> &'static str {
        match self.source.tasks.get(key) {
            Some(recorded) if recorded.deleted => "deleted",
            Some(recorded) if recorded.task.is_done() => "already completed",
            Some(_) => "not restored",
            None => "not recorded",
        }
    }
}
