//! The runs of a backtest: from the store, or from files, which are replayed into a temporary store first.

use std::collections::HashMap;
use std::path::Path;

use crate::archive::{Archive, RunRecord};
use crate::backtest::{self, Record};
use crate::commands::read_context;
use crate::config::Config;
use crate::context::Context;
use crate::demo::{self, DemoOutcome};
use crate::error::{Error, Result};
use crate::event::Recorded;
use crate::log::{Range, ReadErrors, Reader};

/// The runs of one store.
pub struct TestCase {
    /// The archive with its snapshots.
    pub archive: Archive,
    /// Its runs.
    pub records: Vec<Record>,
    /// Log lines that could not be read.
    pub problems: ReadErrors,
    /// For a file: the name of each event, by id.
    names: HashMap<String, String>,
    /// Keeps the temporary store.
    _played: Option<DemoOutcome>,
}

impl TestCase {
    /// The name of an event: its id, or `<file name>:<line>` for a file, because ids in a file are new each time.
    pub fn name<'a>(&'a self, event: &'a Recorded) -> &'a str {
        self.names.get(&event.id).unwrap_or(&event.id)
    }
}

/// Opens these runs and files.
///
/// # Errors
/// When a run or file does not exist or cannot be read.
pub fn open(context: &Context, named: &[String]) -> Result<Vec<TestCase>> {
    let (files, runs): (Vec<&String>, Vec<&String>) =
        named.iter().partition(|name| Path::new(name).is_file());
    let mut cases = Vec::new();
    if !runs.is_empty() {
        cases.push(on_record(context, &runs)?);
    }
    for file in files {
        cases.push(played(Path::new(file))?);
    }
    Ok(cases)
}

fn on_record(context: &Context, names: &[&String]) -> Result<TestCase> {
    if let Some(path) = names.iter().find(|name| name.ends_with(".jsonl")) {
        return Err(Error::not_found(format!("no such file: {path}")));
    }
    let library = read_context::library(context)?;
    let runs: Vec<&RunRecord> = names.iter().map(|name| library.find(name)).collect::<Result<_>>()?;
    let (mut records, problems) = backtest::records(&context.paths.log(), &library.archive, Some(&runs))?;
    // In the order of the arguments.
    records.sort_by_key(|record| runs.iter().position(|run| run.run == record.run));
    Ok(TestCase { archive: library.archive, records, problems, names: HashMap::new(), _played: None })
}

fn played(file: &Path) -> Result<TestCase> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::caused(format!("cannot read the recorded run {}", file.display()), error))?;
    let played = demo::replay_fixture(&text).map_err(|error| {
        Error::caused(format!("cannot replay the recorded run {}", file.display()), error)
    })?;
    let config = Config::default();
    let archive = Archive::open(played.paths.archive(), &config);
    let log = played.paths.log();
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let events = Reader::open(&log, Range::default())?.filter(|line| line.recorded.verdict.is_none());
    let names = events.zip(&played.lines).map(|(event, line)| (event.recorded.id, format!("{stem}:{line}")));
    let names = names.collect();
    let (mut records, problems) = backtest::records(&log, &archive, None)?;
    for record in &mut records {
        // The verdicts of the replay itself did not happen in the run.
        record.verdicts.clear();
    }
    Ok(TestCase { archive, records, problems, names, _played: Some(played) })
}
