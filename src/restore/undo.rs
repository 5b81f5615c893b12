//! Takes a restore back, as far as it is still what it was.

use serde::Serialize;

use std::collections::HashSet;

use super::apply::{file, give_mark_back};
use super::board::{Board, LARGEST};
use super::folder::Folder;
use super::guard::{FILE, Guard};
use super::records::{Record, hash};
use crate::error::Result;

/// What was taken back.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Version of the format: 1.
    pub v: u8,
    /// The restore.
    pub undo: String,
    /// The list.
    pub list: String,
    /// Tasks that were removed, by their number in the list.
    pub removed: Vec<String>,
    /// Tasks that were changed since, and stay.
    pub kept: Vec<String>,
    /// Tasks that had gone.
    pub gone: Vec<String>,
    /// Whether the highest number is what it was before.
    pub highwatermark_restored: bool,
}

impl Undone {
    /// What there is to say of a list that is no longer there.
    pub fn of_nothing(record: &Record) -> Undone {
        let gone = record.tasks.iter().map(|task| task.id.clone()).collect();
        Undone { v: 1, undo: record.id.clone(), list: record.list.clone(), gone, ..Undone::default() }
    }
}

/// Removes the files that are still what was written, and gives the highest number back where nobody changed it and
/// nothing names a task that was removed. Without `apply` it only says what it would do.
///
/// # Errors
/// When the list cannot be locked or read, or the disk refuses.
pub fn undo(folder: &Folder, record: &Record, apply: bool) -> Result<Undone> {
    let mut undone = Undone { v: 1, undo: record.id.clone(), list: record.list.clone(), ..Undone::default() };
    let mut guard = if apply { Some(Guard::list(folder)?) } else { None };
    for task in &record.tasks {
        let name = file(&task.id);
        if let Some(guard) = &mut guard {
            // `.highwatermark` reserves the numbers until the end.
            guard.share()?;
        }
        if folder.look(&name)?.is_none() {
            undone.gone.push(task.id.clone());
            continue;
        }
        // An update takes the lock on the task alone.
        let held = if apply { Some(Guard::task(folder, &name)?) } else { None };
        let same = folder.read(&name, LARGEST).ok().flatten().is_some_and(|bytes| hash(&bytes) == task.hash);
        if same && apply {
            folder.remove(&name)?;
        }
        drop(held);
        if same { &mut undone.removed } else { &mut undone.kept }.push(task.id.clone());
    }
    let board = Board::read(Some(folder))?;
    let removed: HashSet<&str> = undone.removed.iter().map(String::as_str).collect();
    let names_removed = board.tasks.values().flatten().any(|task| {
        let own = removed.contains(task.id.as_str());
        !own && ["blocks", "blockedBy"].iter().any(|field| {
            let ids = task.raw.get(field).and_then(serde_json::Value::as_array);
            ids.into_iter().flatten().filter_map(|id| id.as_str()).any(|id| removed.contains(id))
        })
    });
    let untouched = board.mark.as_deref() == Some(record.highwatermark_after.as_bytes());
    undone.highwatermark_restored = untouched && !names_removed;
    if undone.highwatermark_restored && apply {
        give_mark_back(folder, record)?;
    }
    Ok(undone)
}

/// Removes a list's directory that was made for a restore, if nothing but the client's lock file is in it.
pub fn remove_made(tasks: &Folder, folder: &Folder, record: &Record) {
    let empty = folder.names().is_ok_and(|names| names.iter().all(|name| name == FILE));
    if record.made_list && empty {
        let _ = folder.remove(FILE);
        let _ = tasks.remove_dir(&record.list);
    }
}
