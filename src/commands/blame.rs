//! `teamkeep blame FILE[:LINE]`: the agent that wrote each line of a file, or one line.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::catalog::{self, catalog};
use super::files::{file_changes, suggest_file};
use super::output::{self, JsonOption};
use crate::view;
use teamkeep_history::files::{Attribution, FileChange, FoundBy, LineFinder, PresentLine, ToolChange};
use teamkeep_history::timeline::{RunCatalog, merge, project};
use teamkeep_store::archive::RunRecord;
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::{fs, os};
use teamkeep_terminal::Context;

/// The newest runs in whose projects a file is searched for.
const MAX_PROJECTS: usize = 5;
/// Maximum size of the file whose lines are read.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Each line with its agent, task and time
  teamkeep blame src/parser.rs

  # The change that one line comes from
  teamkeep blame src/parser.rs:42

A line is found by its place in the file after the recorded changes, else by its text: of several
changes that added the same text, the last one is shown.")]
pub struct Args {
    /// A file, and the number of a line of it
    #[arg(value_name = "FILE[:LINE]")]
    file: PathBuf,
    /// Only changes in this run: team name, run ID (or a unique prefix), or `latest`. Default: all runs
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let (file, number) = target(&args.file)?;
    let catalog = catalog(context)?;
    let lines = present_lines(&file, number).map_err(|error| match file.exists() {
        true => error,
        false => elsewhere(&catalog, &file, error),
    })?;
    let run = args.run.as_deref().map(|name| catalog::find(&catalog, name)).transpose()?;
    let found = file_changes(context, &catalog, &file, run)?;
    let changes: Vec<&ToolChange> = found.iter().map(|found| &found.change).collect();
    let finder = LineFinder::of(&changes);
    let lines: Vec<(&PresentLine, Option<(&FileChange, FoundBy)>)> = lines
        .iter()
        .map(|line| (line, finder.find(line).map(|(index, found_by)| (&found[index], found_by))))
        .collect();
    if args.output.json {
        let lines = lines.iter().map(|(line, found)| {
            let (change, found_by) = found.unzip();
            json!({"number": line.number, "text": line.text, "found_by": found_by, "change": change})
        });
        let lines: Vec<_> = lines.collect();
        return output::print_json(context, &json!({"v": 2, "file": file, "lines": lines}));
    }
    if found.is_empty() {
        context.ui.eprint_line("no change of this file is recorded");
        return Ok(());
    }
    match lines.as_slice() {
        [(line, Some((change, _)))] if number.is_some() => {
            let row = [(change.run_name(), &change.change)];
            output::page_document(context, &view::file_changes(row.into_iter(), Some(&line.text)))?;
        }
        [(_, None)] if number.is_some() => context.ui.eprint_line("no change of this line is recorded"),
        lines => output::page_document(context, &view::blame(lines))?,
    }
    if lines.iter().any(|(_, found)| found.is_some_and(|(_, found_by)| found_by == FoundBy::Text)) {
        let which = if number.is_some() { "the line has moved" } else { "lines with ~ have moved" };
        let shown = "the last recorded change that added the same text is shown";
        context.ui.eprint_line(&format!("{which}: {shown}"));
    }
    Ok(())
}

/// Parses `FILE[:LINE]`. A file whose name ends like a line number is found by its name.
fn target(given: &Path) -> Result<(PathBuf, Option<usize>)> {
    let numbered = given.to_str().and_then(|text| text.rsplit_once(':'));
    // The number after the name of a deleted file is a line of it as well.
    let is_line = |(file, line): &(&str, &str)| Path::new(file).is_file() || line.parse::<usize>().is_ok();
    match numbered.filter(|numbered| given.symlink_metadata().is_err() && is_line(numbered)) {
        None => Ok((given.to_path_buf(), None)),
        Some((file, line)) => {
            let number = line.parse().map_err(|_| {
                Error::usage(format!("invalid line number {line:?}"))
                    .hint("write FILE:LINE, such as src/parser.rs:42")
            });
            Ok((file.into(), Some(number?)))
        }
    }
}

/// Adds where the file is: in the project of a run, or only in the recorded changes.
fn elsewhere(catalog: &RunCatalog, file: &Path, error: Error) -> Error {
    let runs: Vec<&RunRecord> = catalog.runs.iter().rev().take(MAX_PROJECTS).collect();
    let opened = catalog.open_timelines(&runs).map(|opened| opened.runs).unwrap_or_default();
    let mut projects = opened.iter().filter_map(project);
    let shown = quoted(&file.to_string_lossy());
    let here = std::env::current_dir().unwrap_or_default();
    let recorded = opened.iter().flat_map(|data| Attribution::of(data, &merge(data)).changes);
    let recorded = recorded.map(|change| change.path).find(|path| path.ends_with(file) && path.is_file());
    if let Some(path) = recorded {
        let path = path.strip_prefix(&here).unwrap_or(&path);
        return error.hint(format!("did you mean {}?", path.display()));
    }
    match projects.find(|project| Path::new(project).join(file).is_file()) {
        Some(project) => error.hint(format!(
            "it is in the project of a run: {}teamkeep blame {shown}",
            os::shell::enter(&quoted(&project))
        )),
        None => error.hint(format!("if it was deleted, list its recorded changes: teamkeep files {shown}")),
    }
}

/// The lines of a file, or the one with this number.
fn present_lines(file: &Path, number: Option<usize>) -> Result<Vec<PresentLine>> {
    let (bytes, _) = fs::read_linked(file, MAX_FILE_BYTES).map_err(|error| {
        let shown = file.display();
        match error.kind() {
            ErrorKind::NotFound => {
                suggest_file(Error::not_found(format!("the file {shown} does not exist")), file)
            }
            _ => error.into(),
        }
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = (1..).zip(text.lines()).map(|(number, text)| PresentLine { number, text: text.to_owned() });
    let Some(number) = number else { return Ok(lines.collect()) };
    let line = lines.into_iter().nth(number.wrapping_sub(1)).ok_or_else(|| {
        let count = text.lines().count();
        Error::usage(format!("{} has no line {number}; it has {count}", file.display()))
    });
    Ok(vec![line?])
}
