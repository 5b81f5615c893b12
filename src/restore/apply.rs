//! Writes a plan's tasks into the list, all or none.

use super::client_lock::ClientLock;
use super::dir_handle::DirHandle;
use super::plan::Plan;
use super::task_list::{MARK, MAX_BYTES, TaskList, number, task_file_name};
use super::undo::{UndoLog, UndoRecord, Written, hash, reset_highwatermark};
use teamkeep_core::error::{Error, Result};

/// Writes a plan that was made under this lock, and stores `record`, whose `tasks` and marks it fills in. `record`
/// is written first, so that everything can be undone even after a crash. `.highwatermark` comes second: it reserves
/// the numbers, so that Claude Code can have the lock between two tasks.
///
/// # Errors
/// Writing fails or the lock is lost; the list is then as before.
pub fn apply(
    lock: &mut ClientLock<'_>,
    plan: &Plan,
    list_now: &TaskList,
    mut record: UndoRecord,
    records: &UndoLog,
) -> Result<UndoRecord> {
    record.tasks = plan
        .tasks
        .iter()
        .map(|put| Written { id: put.id.clone(), was: put.was.clone(), hash: hash(&put.text) })
        .collect();
    record.highwatermark_before =
        list_now.highwatermark.as_deref().map(|mark| String::from_utf8_lossy(mark).into_owned());
    record.highwatermark_after = if plan.highwatermark_after > list_now.mark() {
        plan.highwatermark_after.to_string()
    } else {
        record.highwatermark_before.clone().unwrap_or_default()
    };
    records.write(&record)?;
    let (dir, mut written) = (lock.dir(), 0);
    let done = write_tasks(lock, plan, &record, &mut written);
    if let Err(error) = done {
        let left = record.tasks.iter().take(written).filter(|task| !remove_written(dir, task)).count();
        if left > 0 || reset_highwatermark(dir, &record).is_err() {
            let hint =
                format!("{left} file(s) could not be removed; run: teamkeep restore --undo {}", record.id);
            return Err(error.hint(hint));
        }
        records.forget(&record.id)?;
        return Err(error.hint("nothing was restored; the files written so far were removed"));
    }
    Ok(record)
}

fn write_tasks(
    lock: &mut ClientLock<'_>,
    plan: &Plan,
    record: &UndoRecord,
    written: &mut usize,
) -> Result<()> {
    let dir = lock.dir();
    lock.renew()?;
    // Claude Code raises the mark without the list's lock when it removes a task. A higher value stays.
    if !reserves_ids(dir, record)? {
        dir.replace(MARK, record.highwatermark_after.as_bytes())?;
    }
    for put in &plan.tasks {
        if lock.share()? && !reserves_ids(dir, record)? {
            return Err(Error::new("cannot continue: another process emptied the list"));
        }
        dir.create(&task_file_name(&put.id), &put.text)
            .map_err(|error| Error::caused(format!("cannot restore task {}", put.was), error))?;
        *written += 1;
    }
    lock.renew()
}

fn reserves_ids(dir: &DirHandle, record: &UndoRecord) -> Result<bool> {
    let now = dir.read(MARK, MAX_BYTES)?;
    Ok(now.is_some_and(|now| number(&now) >= number(record.highwatermark_after.as_bytes())))
}

/// Removes a file with unchanged content. Returns whether it is gone.
fn remove_written(dir: &DirHandle, task: &Written) -> bool {
    let name = task_file_name(&task.id);
    match dir.read(&name, MAX_BYTES) {
        Ok(None) => true,
        Ok(Some(bytes)) => hash(&bytes) == task.hash && dir.remove(&name).is_ok(),
        Err(_) => false,
    }
}
