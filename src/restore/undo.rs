//! Undoes a restore. Changed tasks are kept.

use serde::Serialize;

use std::collections::HashSet;

use super::apply::{reset_highwatermark, task_file_name};
use super::client_lock::{ClientLock, FILE};
use super::dir_handle::DirHandle;
use super::task_list::{MAX_BYTES, TaskList};
use super::undo_log::{UndoRecord, hash};
use crate::error::Result;

/// The result of an undo.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Version of the format: 1.
    pub v: u8,
    /// The restore.
    pub undo: String,
    /// The list.
    pub list: String,
    /// Numbers of removed tasks.
    pub removed: Vec<String>,
    /// Numbers of tasks that were changed since, and kept.
    pub kept: Vec<String>,
    /// Numbers of tasks that no longer existed.
    pub gone: Vec<String>,
    /// Whether the highest number was reset.
    pub highwatermark_restored: bool,
}

impl Undone {
    /// The result for a list that no longer exists.
    pub fn empty(record: &UndoRecord) -> Undone {
        let gone = record.tasks.iter().map(|task| task.id.clone()).collect();
        Undone { v: 1, undo: record.id.clone(), list: record.list.clone(), gone, ..Undone::default() }
    }
}

/// Removes unchanged files, and resets the highest number if nothing else changed it and no task refers to a removed
/// one. Without `apply` it only returns what it would do.
///
/// # Errors
/// The list cannot be locked or read, or deleting fails.
pub fn undo(dir: &DirHandle, record: &UndoRecord, apply: bool) -> Result<Undone> {
    let mut undone = Undone { v: 1, undo: record.id.clone(), list: record.list.clone(), ..Undone::default() };
    let mut lock = if apply { Some(ClientLock::list(dir)?) } else { None };
    for task in &record.tasks {
        let name = task_file_name(&task.id);
        if let Some(lock) = &mut lock {
            // `.highwatermark` reserves the numbers until the end.
            lock.share()?;
        }
        if dir.metadata(&name)?.is_none() {
            undone.gone.push(task.id.clone());
            continue;
        }
        // Claude Code takes only the task's lock for an update.
        let held = if apply { Some(ClientLock::task(dir, &name)?) } else { None };
        let same = dir.read(&name, MAX_BYTES).ok().flatten().is_some_and(|bytes| hash(&bytes) == task.hash);
        if same && apply {
            dir.remove(&name)?;
        }
        drop(held);
        if same { &mut undone.removed } else { &mut undone.kept }.push(task.id.clone());
    }
    let list_now = TaskList::read(Some(dir))?;
    let removed: HashSet<&str> = undone.removed.iter().map(String::as_str).collect();
    let names_removed = list_now.tasks.values().flatten().any(|task| {
        let own = removed.contains(task.id.as_str());
        !own && ["blocks", "blockedBy"].iter().any(|field| {
            let ids = task.raw.get(field).and_then(serde_json::Value::as_array);
            ids.into_iter().flatten().filter_map(|id| id.as_str()).any(|id| removed.contains(id))
        })
    });
    let untouched = list_now.highwatermark.as_deref() == Some(record.highwatermark_after.as_bytes());
    undone.highwatermark_restored = untouched && !names_removed;
    if undone.highwatermark_restored && apply {
        reset_highwatermark(dir, record)?;
    }
    Ok(undone)
}

/// Removes a list's directory that a restore created, if it contains nothing but Claude Code's lock file.
pub fn remove_created_list(tasks: &DirHandle, dir: &DirHandle, record: &UndoRecord) {
    let empty = dir.names().is_ok_and(|names| names.iter().all(|name| name == FILE));
    if record.created_list && empty {
        let _ = dir.remove(FILE);
        let _ = tasks.remove_dir(&record.list);
    }
}
