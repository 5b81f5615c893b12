//! Where the references between tasks lead afterwards.

use std::collections::BTreeMap;

use serde_json::Value;

use super::board::Board;
use super::plan::Dropped;
use super::source::{Past, Source};

/// What is known of where tasks are.
#[derive(Debug)]
pub(super) struct Links<'a> {
    source: &'a Source,
    board: &'a Board,
    own: bool,
    /// What the run calls a task, and its number in the list.
    there: BTreeMap<String, String>,
}

impl<'a> Links<'a> {
    pub fn new(source: &'a Source, board: &'a Board, own: bool) -> Links<'a> {
        Links { source, board, own, there: BTreeMap::new() }
    }

    /// Notes that a task is, or will be, in the list under this number.
    pub fn is_there(&mut self, past: &Past, id: &str) {
        self.there.insert(past.key.clone(), id.to_owned());
    }

    /// Whether the list is the run's own and has this very task, whatever became of it since.
    pub fn is_same(&self, past: &Past) -> bool {
        let now = self.board.tasks.get(&past.task.id).and_then(Option::as_ref);
        self.own && past.list().is_none() && now.is_some_and(|now| now.subject == past.task.subject)
    }

    /// The tasks that one names, by their numbers in the list; what leads nowhere is dropped.
    pub fn map(&self, past: &Past, field: &'static str, dropped: &mut Vec<Dropped>) -> Vec<String> {
        let named = past.task.raw.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut mapped: Vec<String> = Vec::new();
        for id in named {
            let id = match id {
                Value::String(id) => id.clone(),
                Value::Number(id) => id.to_string(),
                _ => continue,
            };
            let key = past.beside(&id);
            match self.there.get(&key) {
                // No task waits for itself, and once is enough.
                _ if key == past.key => {}
                Some(there) if mapped.contains(there) => {}
                Some(there) => mapped.push(there.clone()),
                None => dropped.push(Dropped { field, task: key.clone(), why: self.why(&key) }),
            }
        }
        mapped
    }

    /// Why a reference leads nowhere.
    fn why(&self, key: &str) -> &'static str {
        match self.source.tasks.get(key) {
            Some(past) if past.deleted => "it was deleted",
            Some(past) if past.task.is_done() => "it is done",
            Some(_) => "it is not restored",
            None => "it is not on record",
        }
    }
}
