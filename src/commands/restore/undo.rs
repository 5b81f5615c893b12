//! `teamkeep restore --undo ID`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Args;
use crate::commands::read_context;
use crate::context::Context;
use crate::error::Result;
use crate::restore::{self, DirHandle, List, TaskList, UndoLog, Undone};
use crate::view;

/// Undoes a task restore.
///
/// # Errors
/// When there is no such restore, the list cannot be locked, or a file cannot be written.
pub fn run(context: &Context, args: &Args, id: &str) -> Result<ExitCode> {
    let records = UndoLog::at(context.paths.restores());
    let _lock = if args.dry_run { None } else { Some(records.lock()?) };
    let record = records.find(id)?;
    let client = PathBuf::from(&record.client);
    let list = List::exact_match(&record.list)?;
    let dir = TaskList::open(&client, &list)?;
    let undone = match &dir {
        Some(dir) => restore::undo(dir, &record, !args.dry_run)?,
        None => Undone::empty(&record),
    };
    if !args.dry_run {
        if let Some(dir) = &dir
            && restore::holder(&client, &list.name).is_none()
        {
            let tasks = DirHandle::open(&client.canonicalize()?)?.open_dir("tasks")?;
            tasks.iter().for_each(|tasks| restore::remove_created_list(tasks, dir, &record));
        }
        records.forget(id)?;
    }
    read_context::print_value(context, args.json, &undone, || view::undone(&undone))?;
    if args.dry_run {
        context.ui.eprint_line("Dry run: nothing was written.");
    }
    Ok(ExitCode::SUCCESS)
}
