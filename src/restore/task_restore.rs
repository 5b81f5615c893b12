//! Restores the tasks of a run into a task list of Claude Code, all or none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::directory::Directory;
use super::plan::{Earlier, Options, Plan, plan};
use super::source::RestoreSource;
use super::task_list::{
    ClientLock, List, MARK, MAX_BYTES, TaskList, holder, number, open, recorded_user, task_file_name,
};
use super::undo::{UndoLog, UndoRecord, Written, remove_empty_list};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{Archive, RunRecord, hash};
use teamkeep_system::error::{Error, Result};

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
        let root = Directory::at(&self.client.canonicalize().map_err(failed)?)?;
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
            v: 1,
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
