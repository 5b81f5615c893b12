//! `teamkeep blame FILE[:LINE]`: the agents that changed a file, or the one that wrote a line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf, absolute};

use serde::Serialize;
use serde_json::json;

use super::catalog::{self, catalog};
use super::output::{self, JsonOption};
use crate::context::Context;
use crate::files::{Attribution, Change, FoundBy, PresentLine, blame};
use crate::timeline::merge;
use crate::view;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::sys::fs;

/// Number of runs that are in memory at a time.
const RUNS_AT_ONCE: usize = 16;
/// Maximum size of the file whose line is read.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep blame src/parser.rs
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

/// A change of the file, and its run.
#[derive(Debug, Serialize)]
struct Blamed {
    run: String,
    team: Option<String>,
    #[serde(flatten)]
    change: Change,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let target = Target::parse(&args.file)?;
    let catalog = catalog(context)?;
    let runs: Vec<&RunRecord> = match &args.run {
        Some(name) => vec![catalog.find(name)?],
        None => catalog.runs.iter().rev().collect(),
    };
    let mut found: Vec<Blamed> = Vec::new();
    for some in runs.chunks(RUNS_AT_ONCE) {
        let opened = catalog.open_timelines(some)?;
        for data in &opened.runs {
            let attribution = Attribution::of(data, &merge(data));
            let of_file =
                attribution.changes.into_iter().filter(|change| target.names.contains(&change.path));
            found.extend(of_file.map(|change| Blamed {
                run: data.run.run.clone(),
                team: data.run.name().map(str::to_owned),
                change,
            }));
        }
        catalog::warn_damaged(context, &catalog, &opened);
    }
    // Runs overlap, and a line can have moved in a later run.
    found.sort_by_key(|blamed| blamed.change.at);
    let found_by = target.line.as_ref().and_then(|line| retain_origin(&mut found, line));
    found.reverse();
    if args.output.json {
        let line = target.line.as_ref();
        let line = line.map(|line| json!({"number": line.number, "text": line.text, "found_by": found_by}));
        return output::print_json(context, &json!({"v": 1, "line": line, "changes": found}));
    }
    let rows = found.iter().map(|blamed| (blamed.team.as_deref().unwrap_or(&blamed.run), &blamed.change));
    output::page_document(context, &view::blame(rows, target.line.as_ref().map(|line| line.text.as_str())))?;
    if found.is_empty() {
        let of = if target.line.is_some() { "this line" } else { "this file" };
        context.ui.eprint_line(&format!("no change of {of} is recorded"));
    }
    if found_by == Some(FoundBy::Text) {
        context
            .ui
            .eprint_line("the line has moved: this is the last recorded change that added the same text");
    }
    Ok(())
}

/// Keeps only the change that the line comes from.
fn retain_origin(found: &mut Vec<Blamed>, line: &PresentLine) -> Option<FoundBy> {
    let changes: Vec<&Change> = found.iter().map(|blamed| &blamed.change).collect();
    let origin = blame(&changes, line);
    let found_by = origin.map(|(_, found_by)| found_by);
    let place = origin.and_then(|(origin, _)| changes.iter().position(|one| std::ptr::eq(*one, origin)));
    let kept = place.map(|place| found.swap_remove(place));
    *found = kept.into_iter().collect();
    found_by
}

/// The file, by each of its names, and the line.
struct Target {
    names: BTreeSet<PathBuf>,
    line: Option<PresentLine>,
}

impl Target {
    /// Parses `FILE[:LINE]`. A file whose name ends like a line number is found by its name.
    fn parse(given: &Path) -> Result<Target> {
        let numbered = given.to_str().and_then(|text| text.rsplit_once(':'));
        let numbered = numbered.and_then(|(file, line)| Some((Path::new(file), line.parse().ok()?)));
        match numbered.filter(|_| given.symlink_metadata().is_err()) {
            None => Ok(Target { names: names(given)?, line: None }),
            Some((file, number)) => {
                Ok(Target { names: names(file)?, line: Some(present_line(file, number)?) })
            }
        }
    }
}

/// The absolute path as it is given, and with all links resolved.
fn names(file: &Path) -> Result<BTreeSet<PathBuf>> {
    let given =
        absolute(file).map_err(|error| Error::caused(format!("invalid file {}", file.display()), error))?;
    let resolved = file.canonicalize().ok();
    Ok([fs::plain(&given)].into_iter().chain(resolved).collect())
}

fn present_line(file: &Path, number: usize) -> Result<PresentLine> {
    let (bytes, _) = fs::read_linked(file, MAX_FILE_BYTES).map_err(Error::from)?;
    let text = String::from_utf8_lossy(&bytes);
    let line = number.checked_sub(1).and_then(|index| text.lines().nth(index));
    let line = line.ok_or_else(|| {
        let lines = text.lines().count();
        Error::usage(format!("{} has no line {number}; it has {lines}", file.display()))
    })?;
    Ok(PresentLine { number, text: line.to_owned() })
}
