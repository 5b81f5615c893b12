//! Undoes a restore, and its record `restores/<id>.json` in the store. Changed tasks are preserved.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::directory::Directory;
use super::task_list::{ClientLock, LOCK_FILE, MARK, MAX_BYTES, holder, is_list_name, open, task_file_name};
use teamkeep_model::event::SafeName;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_store::archive::hash;
use teamkeep_system::error::{Error, Result, candidates};
use teamkeep_system::fs::{self, JsonDocument, JsonFile};
use teamkeep_system::paths::Paths;
use teamkeep_system::store_lock::StoreLock;

const V: u8 = 1;
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
    #[serde(rename = "made_list")]
    pub created_list: bool,
    /// Whether all of the tasks were written. Noted before the first one is written, and again after the last one.
    #[serde(default)]
    pub done: bool,
    /// Whether it is undone. `tasks` then are those that had changed, which stay restored.
    #[serde(default)]
    pub undone: bool,
}

impl JsonDocument for UndoRecord {
    fn check(&self) -> std::result::Result<(), String> {
        // Only names that a restore can write may be removed, whatever the file contains.
        let is_number = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let is_sound = is_list_name(&self.list) && self.tasks.iter().all(|task| is_number(&task.id));
        let why = || "it is not a restore record of this version".to_owned();
        if self.v == V && is_sound { Ok(()) } else { Err(why()) }
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
    pub paths: Paths,
}

impl UndoLog {
    pub fn lock(&self) -> Result<fs::Lock> {
        let lock = StoreLock::Restores.take(&self.paths.store, TIMEOUT)?;
        lock.ok_or_else(|| Error::new("cannot restore: another restore is running"))
    }

    /// The readable records, by time.
    pub fn all(&self) -> Vec<UndoRecord> {
        let names =
            fs::entries(&self.paths.restores()).filter_map(|entry| entry.file_name().into_string().ok());
        let mut all: Vec<UndoRecord> =
            names.filter_map(|name| self.read(name.strip_suffix(".json")?).ok().flatten()).collect();
        all.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        all
    }

    /// The newest record that is not undone.
    pub fn last(&self) -> Option<UndoRecord> {
        self.all().into_iter().rfind(|record| !record.undone)
    }

    fn find(&self, id: &str) -> Result<UndoRecord> {
        if let Some(record) = self.read(id)? {
            return Ok(record);
        }
        let error = Error::not_found(format!("no restore has the ID {id:?}"));
        let known = self.all();
        if known.is_empty() {
            return Err(error.hint("no restores are recorded"));
        }
        let described = |one: &UndoRecord| format!("{} ({}, {})", one.id, one.list, time::moment(one.at));
        let all: Vec<String> = known.iter().rev().map(described).collect();
        Err(error.hint(format!("recorded restores: {}", candidates(&all))))
    }

    fn read(&self, id: &str) -> Result<Option<UndoRecord>> {
        let Some(id) = SafeName::new(id) else { return Ok(None) };
        let record = self.file(id.as_str()).read()?.map_err(io::Error::from)?;
        Ok(record.filter(|record| record.id == id.as_str()))
    }

    pub fn write(&self, record: &UndoRecord) -> Result<()> {
        Ok(self.file(&record.id).write_synced(record)?)
    }

    pub fn forget(&self, id: &str) -> Result<()> {
        Ok(self.file(id).remove()?)
    }

    /// An unused ID, derived from a text.
    pub fn next(&self, text: &str) -> String {
        let mut ids = (0_u64..).map(|count| hash(format!("{text} {count}").as_bytes())[..8].to_owned());
        ids.find(|id| !self.file(id).path().exists()).unwrap_or_default()
    }

    fn file(&self, id: &str) -> JsonFile<UndoRecord> {
        JsonFile::at(self.paths.restores().join(format!("{id}.json")))
    }

    /// Undoes a restore: removes its unchanged tasks, and a list that it created if it is empty.
    pub fn undo(&self, id: &str) -> Result<Undone> {
        let _lock = self.lock()?;
        let mut record = self.find(id)?;
        let client = Path::new(&record.client);
        let dir = open(client, &record.list)?;
        let lock = dir.as_ref().map(ClientLock::list).transpose()?;
        let undone = Undone::of(&record, dir.as_ref(), lock)?;
        if dir.is_some()
            && record.created_list
            && holder(client, &record.list).is_none()
            && let Some(tasks) = Directory::at(&client.canonicalize()?)?.subdirectory("tasks")?
        {
            remove_empty_list(&tasks, &record.list);
        }
        record.undone = true;
        record.tasks.retain(|task| undone.kept.contains(&task.id));
        match record.tasks.is_empty() {
            true => self.forget(&record.id)?,
            false => self.write(&record)?,
        }
        Ok(undone)
    }

    /// The result of [`UndoLog::undo`], without a change.
    pub fn preview_undo(&self, id: &str) -> Result<Undone> {
        let record = self.find(id)?;
        Undone::of(&record, open(Path::new(&record.client), &record.list)?.as_ref(), None)
    }
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    pub v: u8,
    pub undo: String,
    pub list: String,
    pub removed: Vec<String>,
    pub kept: Vec<String>,
    pub gone: Vec<String>,
}

impl Undone {
    /// Removes unchanged files. `.highwatermark` stays, so their numbers are not used again. Without the list's lock, it
    /// changes nothing.
    fn of(record: &UndoRecord, dir: Option<&Directory>, mut lock: Option<ClientLock<'_>>) -> Result<Undone> {
        let (undo, list) = (record.id.clone(), record.list.clone());
        let mut undone = Undone { v: V, undo, list, ..Undone::default() };
        let Some(dir) = dir else {
            undone.gone = record.tasks.iter().map(|task| task.id.clone()).collect();
            return Ok(undone);
        };
        for task in &record.tasks {
            let name = task_file_name(&task.id);
            if let Some(lock) = &mut lock {
                lock.renew()?;
            }
            if dir.metadata(&name)?.is_none() {
                undone.gone.push(task.id.clone());
                continue;
            }
            // Claude Code locks only the task for an update.
            let _task_lock = lock.is_some().then(|| ClientLock::task(dir, &name)).transpose()?;
            let now = dir.read(&name, MAX_BYTES).ok().flatten();
            if now.is_none_or(|now| hash(&now) != task.hash) {
                undone.kept.push(task.id.clone());
                continue;
            }
            if lock.is_some() {
                dir.remove(&name)?;
            }
            undone.removed.push(task.id.clone());
        }
        Ok(undone)
    }
}

/// Removes a list's directory if it contains nothing but Claude Code's lock file and the highest number.
pub(super) fn remove_empty_list(tasks: &Directory, list: &str) {
    if let Ok(Some(dir)) = tasks.subdirectory(list)
        && dir.names().is_ok_and(|names| names.iter().all(|name| [LOCK_FILE, MARK].contains(&name.as_str())))
    {
        let _ = dir.remove(MARK);
        let _ = dir.remove(LOCK_FILE);
        let _ = tasks.remove_dir(list);
    }
}
