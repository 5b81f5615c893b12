//! The recorded changes of one file in all runs, which `blame` and `files FILE` show.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf, absolute};

use super::catalog;
use teamkeep_history::files::{Attribution, FileChange};
use teamkeep_history::timeline::{RunCatalog, merge};
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result, nearest};
use teamkeep_system::fs;
use teamkeep_terminal::Context;

/// Number of runs that are in memory at a time.
const RUNS_AT_ONCE: usize = 16;

/// The changes of a file in one run, or in all, in order of time: runs overlap, and a line can have moved in a later run.
pub fn file_changes(
    context: &Context,
    catalog: &RunCatalog,
    file: &Path,
    run: Option<&RunRecord>,
) -> Result<Vec<FileChange>> {
    let names = names(file)?;
    let runs: Vec<&RunRecord> = run.map_or_else(|| catalog.runs.iter().collect(), |run| vec![run]);
    let mut found: Vec<FileChange> = Vec::new();
    for some in runs.chunks(RUNS_AT_ONCE) {
        let opened = catalog.open_timelines(some)?;
        for data in &opened.runs {
            let changes = Attribution::of(data, &merge(data)).changes;
            found.extend(changes.into_iter().filter(|change| names.contains(&change.path)).map(|change| {
                FileChange { run: data.run.run.clone(), team: data.run.name().map(str::to_owned), change }
            }));
        }
        catalog::warn_damaged(context, catalog, &opened);
    }
    found.sort_by_key(|found| found.change.at);
    Ok(found)
}

/// At most this many files of a directory are compared with a name.
const MAX_COMPARED: usize = 10_000;

/// Adds the file of the same directory with the most similar name, if the file does not exist.
pub fn suggest_file(error: Error, file: &Path) -> Error {
    let (Some(name), false) = (file.file_name().and_then(|name| name.to_str()), file.exists()) else {
        return error;
    };
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = fs::entries(directory.unwrap_or(Path::new("."))).take(MAX_COMPARED);
    let files: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let known: Vec<&str> = files.iter().map(String::as_str).collect();
    error.maybe_hint(
        nearest(name, &known, 2).map(|near| format!("did you mean {}?", file.with_file_name(near).display())),
    )
}

/// The absolute path as it is given, and with all links resolved.
fn names(file: &Path) -> Result<BTreeSet<PathBuf>> {
    let given =
        absolute(file).map_err(|error| Error::caused(format!("invalid file {}", file.display()), error))?;
    let resolved = file.canonicalize().ok();
    Ok([fs::plain(&given)].into_iter().chain(resolved).collect())
}
