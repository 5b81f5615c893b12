//! `teamkeep restore --undo ID`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Args;
use crate::commands::reading;
use crate::context::Context;
use crate::error::Result;
use crate::render;
use crate::restore::{self, Board, Folder, List, Records, Undone};

/// Undoes a task restore.
///
/// # Errors
/// When there is no such restore, the list cannot be locked, or a file cannot be written.
pub fn run(context: &Context, args: &Args, id: &str) -> Result<ExitCode> {
    let records = Records::at(context.paths.restores());
    let _lock = if args.dry_run { None } else { Some(records.lock()?) };
    let record = records.find(id)?;
    let client = PathBuf::from(&record.client);
    let list = List::exactly(&record.list)?;
    let folder = Board::open(&client, &list)?;
    let undone = match &folder {
        Some(folder) => restore::undo(folder, &record, !args.dry_run)?,
        None => Undone::of_nothing(&record),
    };
    if !args.dry_run {
        if let Some(folder) = &folder
            && restore::holder(&client, &list.name).is_none()
        {
            let tasks = Folder::open(&client.canonicalize()?)?.child("tasks")?;
            tasks.iter().for_each(|tasks| restore::remove_made(tasks, folder, &record));
        }
        records.forget(id)?;
    }
    if args.json {
        reading::print_json(context, &undone)?;
    } else {
        reading::print(context, &render::undone(&undone, context.ui.columns()))?;
    }
    if args.dry_run {
        context.ui.say("Dry run: nothing was written.");
    }
    Ok(ExitCode::SUCCESS)
}
