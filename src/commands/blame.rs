//! `teamkeep blame FILE[:LINE]`: the agents that changed a file, or the one that wrote a line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf, absolute};

use serde::Serialize;
use serde_json::json;

use super::catalog::{self, catalog};
use super::output;
use crate::context::Context;
use crate::files::{Attribution, Change, PresentLine, blame, changes_of};
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
    /// Print one JSON object
    #[arg(long)]
    json: bool,
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
        let opened = catalog.open_stories(some)?;
        for data in &opened.runs {
            let attribution = Attribution::of(data, &merge(data));
            found.extend(target.changes(&attribution).into_iter().map(|change| Blamed {
                run: data.run.run.clone(),
                team: data.run.name().map(str::to_owned),
                change: change.clone(),
            }));
        }
        catalog::warn_damaged(context, &catalog, &opened);
        if target.line.is_some() && !found.is_empty() {
            found.truncate(1);
            break;
        }
    }
    if args.json {
        let line = target.line.as_ref().map(|line| json!({"number": line.number, "text": line.text}));
        return output::print_json(context, &json!({"v": 1, "line": line, "changes": found}));
    }
    let rows = found.iter().map(|blamed| (blamed.team.as_deref().unwrap_or(&blamed.run), &blamed.change));
    output::page_document(context, &view::blame(rows, target.line.as_ref().map(|line| line.text.as_str())))?;
    if found.is_empty() {
        let of = if target.line.is_some() { "this line" } else { "this file" };
        context.ui.eprint_line(&format!("no change of {of} is recorded"));
    }
    Ok(())
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

    fn changes<'a>(&self, found: &'a Attribution) -> Vec<&'a Change> {
        let of_name = |name| match &self.line {
            None => changes_of(found, name),
            Some(line) => blame(found, name, line).into_iter().collect(),
        };
        let mut changes: Vec<&Change> = self.names.iter().flat_map(|name| of_name(name)).collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.at));
        changes
    }
}

/// The absolute path as it is given, and with all links resolved.
fn names(file: &Path) -> Result<BTreeSet<PathBuf>> {
    let given =
        absolute(file).map_err(|error| Error::caused(format!("invalid file {}", file.display()), error))?;
    let resolved = file.canonicalize().ok();
    Ok([given].into_iter().chain(resolved).collect())
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
