//! Restores the tasks of a run into a task list of Claude Code, all or none, and undoes that by its record `restores/<id>.json` in the
//! store. Changed tasks are preserved.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::directory::Directory;
use super::plan::{Earlier, Options, Plan, plan};
use super::source::RestoreSource;
use super::task_list::{
    ClientLock, LOCK_FILE, List, MARK, MAX_BYTES, TaskList, holder, is_list_name, number, open,
    recorded_user, task_file_name,
};
use teamkeep_model::event::SafeName;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_store::archive::{Archive, RunRecord, hash};
use teamkeep_system::error::{Error, Result, candidates};
use teamkeep_system::fs::{self, JsonDocument, JsonFile};
use teamkeep_system::paths::Paths;
use teamkeep_system::store_lock::StoreLock;

/// The version of a record, and of the result of an undo.
const RECORD_VERSION: u8 = 1;
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct TaskRestore<'a> {
    pub archive: &'a Archive,
    pub run: &'a RunRecord,
    /// The moment of the state; `None` for the last state of each task.
    pub at: Option<Timestamp>,
    pub source: RestoreSource,
    pub options: Options,
    /// Claude Code's directory: absolute, because an undo may run in any directory.
    pub client: PathBuf,
    pub list: List,
    pub records: UndoLog,
}

impl TaskRestore<'_> {
    pub fn preview(&self) -> Result<Plan> {
        self.plan(open(&self.client, &self.list.name)?.as_ref())
    }

    /// Writes the tasks, if there are any. After an error, the list has the tasks that it had before.
    pub fn write(&self, now: Timestamp) -> Result<Plan> {
        let _lock = self.records.lock()?;
        let plan = self.preview()?;
        if plan.tasks.is_empty() {
            return Ok(plan);
        }
        self.check_not_in_use(&plan)?;
        let failed = |error| Error::caused(format!("cannot open {}", self.client.display()), error);
        let root = Directory::at(&fs::canonicalize(&self.client).map_err(failed)?)?;
        let (tasks, _) = root.subdirectory_or_new("tasks")?;
        let (dir, created_list) = tasks.subdirectory_or_new(&self.list.name)?;
        let written = self.write_into(&dir, UndoRecord { created_list, ..self.record(&dir, now) });
        if created_list && !written.as_ref().is_ok_and(|plan| plan.done) {
            remove_empty_list(&tasks, &self.list.name);
        }
        written
    }

    /// Plans for the current list.
    fn plan(&self, dir: Option<&Directory>) -> Result<Plan> {
        let content = TaskList::read(dir)?;
        Ok(Plan {
            run: self.run.run.clone(),
            team: self.run.team.clone(),
            at: self.at,
            list: self.list.name.clone(),
            directory: self.client.join("tasks").join(&self.list.name).to_string_lossy().into_owned(),
            held_by: holder(&self.client, &self.list.name)
                .or_else(|| recorded_user(self.archive, &self.client, &self.list.name)),
            ..plan(&self.source, &content, &self.earlier(&content), self.options)?
        })
    }

    /// The newest restore of this run into the list that is not undone.
    pub fn earlier_restore(&self) -> Option<String> {
        let is_same = |record: &UndoRecord| {
            record.run == self.run.run && record.list == self.list.name && !record.undone
        };
        self.records.all().into_iter().rfind(is_same).map(|record| record.id)
    }

    fn check_not_in_use(&self, plan: &Plan) -> Result<()> {
        let Some(holder) = plan.held_by.clone().filter(|_| !self.options.force) else { return Ok(()) };
        Err(Error::caused(format!("cannot restore into task list {}", self.list.name), holder)
            .hint("end that session first, or pass --force to add the tasks while it runs"))
    }

    /// The tasks of this run that earlier restores added to the list. Of an interrupted restore, only those that still exist:
    /// it records more tasks than it wrote, and their IDs may now belong to other tasks.
    fn earlier(&self, content: &TaskList) -> BTreeMap<String, Earlier> {
        let client = self.client.to_string_lossy();
        let is_same = |record: &UndoRecord| {
            record.run == self.run.run && record.list == self.list.name && record.client == client
        };
        let mut earlier = BTreeMap::new();
        for record in self.records.all().into_iter().filter(is_same) {
            for task in record.tasks {
                let now = content.tasks.get(&task.id).and_then(Option::as_ref);
                let then = self.source.tasks.get(&task.was);
                let subject = |subject: &Option<String>| subject.clone().unwrap_or_default();
                let exists = now
                    .zip(then)
                    .is_some_and(|(now, then)| subject(&now.subject) == subject(&then.task.subject));
                if exists || record.done {
                    earlier.insert(task.was, Earlier { id: task.id, exists });
                }
            }
        }
        earlier
    }

    /// Plans again under Claude Code's lock, and writes. The undo record is written first, so that everything can be undone
    /// even after a crash. `.highwatermark` comes second: it reserves the numbers.
    fn write_into(&self, dir: &Directory, mut record: UndoRecord) -> Result<Plan> {
        let mut lock = ClientLock::list(dir)?;
        let mut plan = self.plan(Some(dir))?;
        if plan.tasks.is_empty() {
            return Ok(plan);
        }
        self.check_not_in_use(&plan)?;
        let written = plan.tasks.iter().map(|task| Written {
            id: task.id.clone(),
            was: task.was.clone(),
            hash: hash(&task.text),
        });
        record.tasks = written.collect();
        self.records.write(&record)?;
        let mut count = 0;
        if let Err(error) = write_tasks(&mut lock, &plan, &mut count) {
            let left = record.tasks.iter().take(count).filter(|task| !remove_written(dir, task)).count();
            if left > 0 {
                let id = &record.id;
                return Err(error.hint(format!(
                    "{left} file(s) could not be removed; run: teamkeep restore --undo {id}"
                )));
            }
            self.records.forget(&record.id)?;
            return Err(error.hint("nothing was restored; the files written so far were removed"));
        }
        record.done = true;
        // If that fails, it counts as interrupted.
        let _ = self.records.write(&record);
        plan.done = true;
        plan.undo = Some(record.id);
        Ok(plan)
    }

    fn record(&self, dir: &Directory, now: Timestamp) -> UndoRecord {
        UndoRecord {
            v: RECORD_VERSION,
            id: self.records.next(&format!("{} {now} {}", self.run.run, dir.path.display())),
            at: now,
            run: self.run.run.clone(),
            client: self.client.to_string_lossy().into_owned(),
            list: self.list.name.clone(),
            tasks: Vec::new(),
            created_list: false,
            done: false,
            undone: false,
        }
    }
}

/// Writes the tasks and counts them.
fn write_tasks(lock: &mut ClientLock<'_>, plan: &Plan, count: &mut usize) -> Result<()> {
    let dir = lock.dir;
    lock.renew()?;
    // Claude Code raises the mark without the list's lock when it removes a task. A higher value stays.
    let now = dir.read(MARK, MAX_BYTES)?;
    if now.is_none_or(|now| number(&now) < plan.highwatermark_after) {
        dir.replace(MARK, plan.highwatermark_after.to_string().as_bytes())?;
    }
    for task in &plan.tasks {
        lock.renew()?;
        dir.create(&task_file_name(&task.id), &task.text)
            .map_err(|error| Error::caused(format!("cannot restore task {}", task.was), error))?;
        *count += 1;
    }
    lock.renew()
}

/// Removes a file with unchanged content. Returns whether it is gone.
fn remove_written(dir: &Directory, task: &Written) -> bool {
    let name = task_file_name(&task.id);
    match dir.read(&name, MAX_BYTES) {
        Ok(None) => true,
        Ok(Some(bytes)) => hash(&bytes) == task.hash && dir.remove(&name).is_ok(),
        Err(_) => false,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoRecord {
    v: u8,
    pub id: String,
    pub at: Timestamp,
    pub run: String,
    client: String,
    list: String,
    tasks: Vec<Written>,
    #[serde(rename = "made_list")]
    created_list: bool,
    /// Whether all of the tasks were written. Noted before the first one is written, and again after the last one.
    #[serde(default)]
    done: bool,
    /// Whether it is undone. `tasks` then are those that had changed, which stay restored.
    #[serde(default)]
    undone: bool,
}

impl JsonDocument for UndoRecord {
    fn check(&self) -> std::result::Result<(), String> {
        // Only names that a restore can write may be removed, whatever the file contains.
        let is_number = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let is_sound = is_list_name(&self.list) && self.tasks.iter().all(|task| is_number(&task.id));
        let why = || "it is not a restore record of this version".to_owned();
        if self.v == RECORD_VERSION && is_sound { Ok(()) } else { Err(why()) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    id: String,
    was: String,
    hash: String,
}

#[derive(Debug)]
pub struct UndoLog {
    pub paths: Paths,
}

impl UndoLog {
    fn lock(&self) -> Result<fs::Lock> {
        let lock = StoreLock::Restores.take(&self.paths.store, LOCK_TIMEOUT)?;
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

    fn write(&self, record: &UndoRecord) -> Result<()> {
        Ok(self.file(&record.id).write_synced(record)?)
    }

    fn forget(&self, id: &str) -> Result<()> {
        Ok(self.file(id).remove()?)
    }

    /// An unused ID, derived from a text.
    fn next(&self, text: &str) -> String {
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
            && let Some(tasks) = Directory::at(&fs::canonicalize(client)?)?.subdirectory("tasks")?
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
        let mut undone = Undone { v: RECORD_VERSION, undo, list, ..Undone::default() };
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
fn remove_empty_list(tasks: &Directory, list: &str) {
    if let Ok(Some(dir)) = tasks.subdirectory(list)
        && dir.names().is_ok_and(|names| names.iter().all(|name| [LOCK_FILE, MARK].contains(&name.as_str())))
    {
        let _ = dir.remove(MARK);
        let _ = dir.remove(LOCK_FILE);
        let _ = tasks.remove_dir(list);
    }
}
