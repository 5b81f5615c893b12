//! Undoes a restore, and its record `restores/<id>.json` in the store. Changed tasks are preserved.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::client_lock::{ClientLock, FILE};
use super::dir_handle::DirHandle;
use super::task_list::{List, MARK, MAX_BYTES, TaskList, task_file_name};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::event::SafeName;
use teamkeep_core::sys::clock::{self, Timestamp};
use teamkeep_core::sys::fs::{self, Content, Document, JsonFile, Layout};

const V: u8 = 1;
const OTHER_RECORD: &str = "it is not a restore record of this version and ID";
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoRecord {
    pub v: u8,
    pub id: String,
    pub at: Timestamp,
    pub run: String,
    pub client: String,
    pub list: String,
    pub tasks: Vec<Written>,
    /// The previous content of `.highwatermark`; `None` if it did not exist.
    pub highwatermark_before: Option<String>,
    pub highwatermark_after: String,
    #[serde(rename = "made_list")]
    pub created_list: bool,
}

impl Document for UndoRecord {
    const MAX_BYTES: u64 = 64 << 20;
    const LAYOUT: Layout = Layout::Line;

    fn check(&self) -> std::result::Result<(), String> {
        // Only names that a restore can write may be removed, whatever the file contains.
        let is_number = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let sound =
            List::exact_match(&self.list).is_ok() && self.tasks.iter().all(|task| is_number(&task.id));
        if self.v == V && sound { Ok(()) } else { Err(OTHER_RECORD.to_owned()) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    pub id: String,
    pub was: String,
    pub hash: String,
}

#[derive(Debug)]
pub struct UndoLog {
    dir: PathBuf,
}

impl UndoLog {
    pub fn at(dir: PathBuf) -> UndoLog {
        UndoLog { dir }
    }

    pub fn lock(&self) -> Result<fs::Lock> {
        let path = self.dir.join(".lock");
        fs::lock(&path, TIMEOUT)?
            .ok_or_else(|| Error::new(format!("cannot lock {}: another restore is running", path.display())))
    }

    pub fn all(&self) -> Vec<UndoRecord> {
        let listing = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = listing.filter_map(|entry| entry.file_name().into_string().ok());
        let ids = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
        let mut all: Vec<UndoRecord> = ids.filter_map(|id| self.read(&id).ok().flatten()).collect();
        all.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        all
    }

    pub fn find(&self, id: &str) -> Result<UndoRecord> {
        if let Some(record) = self.read(id)? {
            return Ok(record);
        }
        let error = Error::not_found(format!("no restore has the ID {id:?}"));
        let known = self.all();
        if known.is_empty() {
            return Err(error.hint("no restores are recorded"));
        }
        let recent = known.iter().rev().take(5);
        Err(recent.fold(error, |error, one| {
            error.hint(format!("{} restored tasks into {}, {}", one.id, one.list, clock::moment(one.at)))
        }))
    }

    fn read(&self, id: &str) -> Result<Option<UndoRecord>> {
        let Some(file) = self.file(id) else { return Ok(None) };
        let cannot = |flaw| Error::caused(format!("cannot read {}", file.path().display()), flaw);
        match file.read()? {
            Content::Missing => Ok(None),
            Content::Valid(record) if record.id == id => Ok(Some(record)),
            Content::Valid(_) => Err(cannot(OTHER_RECORD.to_owned())),
            Content::Damaged(damage) => Err(cannot(damage.why)),
        }
    }

    pub fn write(&self, record: &UndoRecord) -> Result<()> {
        let file = self.file(&record.id).ok_or_else(|| Error::new("a restore has an invalid ID"))?;
        file.write_synced(record)?;
        Ok(())
    }

    pub fn forget(&self, id: &str) -> Result<()> {
        Ok(self.file(id).map_or(Ok(()), |file| file.remove())?)
    }

    pub fn next(&self, run: &str, at: Timestamp, directory: &Path) -> String {
        let known: Vec<String> = self.all().into_iter().map(|record| record.id).collect();
        let ids =
            (0_u64..).map(|count| hash(format!("{run} {at} {} {count}", directory.display()).as_bytes()));
        let mut ids = ids.map(|id| id[..8].to_owned());
        ids.find(|id| !known.contains(id)).unwrap_or_default()
    }

    fn file(&self, id: &str) -> Option<JsonFile<UndoRecord>> {
        SafeName::new(id).map(|id| JsonFile::at(self.dir.join(format!("{id}.json"))))
    }
}

pub(super) fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    pub v: u8,
    pub undo: String,
    pub list: String,
    pub removed: Vec<String>,
    pub kept: Vec<String>,
    pub gone: Vec<String>,
    pub highwatermark_restored: bool,
}

impl Undone {
    pub fn empty(record: &UndoRecord) -> Undone {
        let gone = record.tasks.iter().map(|task| task.id.clone()).collect();
        Undone { v: 1, undo: record.id.clone(), list: record.list.clone(), gone, ..Undone::default() }
    }
}

/// Removes unchanged files, and resets the highest number if nothing else changed it and no task refers to a removed
/// one.
pub fn undo(dir: &DirHandle, record: &UndoRecord) -> Result<Undone> {
    undo_with(dir, record, Some(ClientLock::list(dir)?))
}

/// The result of [`undo`], without a change.
pub fn preview_undo(dir: &DirHandle, record: &UndoRecord) -> Result<Undone> {
    undo_with(dir, record, None)
}

/// Only shows what it would do without the list's lock.
fn undo_with(dir: &DirHandle, record: &UndoRecord, mut lock: Option<ClientLock<'_>>) -> Result<Undone> {
    let apply = lock.is_some();
    let mut undone = Undone { gone: Vec::new(), ..Undone::empty(record) };
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
    let names_removed = list_now.tasks.values().flatten().any(|task| {
        let mut named = [task.ids("blocks"), task.ids("blockedBy")].into_iter().flatten();
        !undone.removed.contains(&task.id) && named.any(|id| undone.removed.contains(&id))
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

/// Resets `.highwatermark` to its value before a restore, unless it was changed since.
pub(super) fn reset_highwatermark(dir: &DirHandle, record: &UndoRecord) -> Result<bool> {
    let before = record.highwatermark_before.as_deref();
    let ours = dir.read(MARK, MAX_BYTES)?.as_deref() == Some(record.highwatermark_after.as_bytes());
    if ours && before != Some(record.highwatermark_after.as_str()) {
        match before {
            Some(before) => dir.replace(MARK, before.as_bytes())?,
            None => dir.remove(MARK)?,
        }
    }
    Ok(ours)
}
