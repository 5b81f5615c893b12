//! `teamkeep restore RUN --to DIR`.

use std::path::Path;
use std::process::ExitCode;

use super::{Args, target};
use crate::commands::read_context;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::restore::{self, FilePlan};
use crate::timeline::{OpenedRun, RunCatalog};
use crate::view;

/// Writes a run's files.
///
/// # Errors
/// When the directory is not safe or not empty, or a file cannot be written. Nothing is left in it then.
pub fn run(
    context: &Context,
    args: &Args,
    library: &RunCatalog,
    opened: &OpenedRun,
    directory: &Path,
) -> Result<ExitCode> {
    let (archive, data, at) = target(context, library, opened, args)?;
    let directory = std::path::absolute(directory)
        .map_err(|error| Error::caused(format!("cannot restore to {}", directory.display()), error))?;
    not_within(context, &directory)?;
    let mut plan = FilePlan::of(archive, data, at.as_deref(), &directory.to_string_lossy());
    let mut lost = Vec::new();
    if !args.dry_run && !plan.files.is_empty() {
        lost = restore::write(archive, &plan, &directory, args.force)?;
        plan.done = true;
    }
    read_context::print_value(context, args.json, &plan, || view::restored_files(&plan))?;
    for lost in &lost {
        context.ui.warn(lost);
    }
    if plan.files.is_empty() {
        context.ui.eprint_line("nothing to restore: no file of the run was recorded at that time");
    } else if args.dry_run {
        context.ui.eprint_line("Dry run: nothing was written.");
    }
    read_context::warn(context, library, opened);
    Ok(if lost.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Fails when the directory is inside Claude Code's directory or the store: Claude Code would take the files for a
/// running team.
fn not_within(context: &Context, directory: &Path) -> Result<()> {
    let real = |path: &Path| {
        let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
        there.map_or_else(
            || path.to_path_buf(),
            |(above, real)| path.strip_prefix(above).map_or(real.clone(), |rest| real.join(rest)),
        )
    };
    let what = || format!("cannot restore to {}", directory.display());
    let directory = real(directory);
    if context.paths.client.as_deref().is_some_and(|client| directory.starts_with(real(client))) {
        return Err(Error::caused(what(), "it is inside Claude Code's directory")
            .hint("choose another directory, or use --tasks to add tasks to a task list"));
    }
    if directory.starts_with(real(&context.paths.store)) {
        return Err(Error::caused(what(), "it is inside teamkeep's store").hint("choose another directory"));
    }
    Ok(())
}
