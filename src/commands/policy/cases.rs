//! What is tested: runs on record, and recorded-run files, which are played into a scratch store first.

use std::collections::HashMap;
use std::path::Path;

use crate::archive::{Archive, RunRecord};
use crate::backtest::{self, Record};
use crate::commands::reading;
use crate::config::Config;
use crate::context::Context;
use crate::demo::{self, Played};
use crate::error::{Error, Result};
use crate::event::Recorded;
use crate::log::{Problems, Range, Reader};

/// What is on record of one store.
pub struct Case {
    /// Where its states are.
    pub archive: Archive,
    /// Its runs.
    pub records: Vec<Record>,
    /// What could not be read.
    pub problems: Problems,
    /// Of a file: what its events are called.
    names: HashMap<String, String>,
    /// Keeps the scratch store.
    _played: Option<Played>,
}

impl Case {
    /// What an event is called: its id; in a file `<the file's name>:<line>`, as ids there are new each time.
    pub fn name<'a>(&'a self, event: &'a Recorded) -> &'a str {
        self.names.get(&event.id).unwrap_or(&event.id)
    }
}

/// Opens everything that was named.
///
/// # Errors
/// When there is no such run or file, or it cannot be read.
pub fn open(context: &Context, named: &[String]) -> Result<Vec<Case>> {
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

fn on_record(context: &Context, names: &[&String]) -> Result<Case> {
    if let Some(path) = names.iter().find(|name| name.ends_with(".jsonl")) {
        return Err(Error::not_found(format!("there is no file {path}")));
    }
    let library = reading::library(context)?;
    let runs: Vec<&RunRecord> = names.iter().map(|name| library.find(name)).collect::<Result<_>>()?;
    let (mut records, problems) = backtest::records(&context.paths.log(), &library.archive, Some(&runs))?;
    // In the order in which they were named.
    records.sort_by_key(|record| runs.iter().position(|run| run.run == record.run));
    Ok(Case { archive: library.archive, records, problems, names: HashMap::new(), _played: None })
}

fn played(file: &Path) -> Result<Case> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::caused(format!("cannot read the recorded run {}", file.display()), error))?;
    let played = demo::reenact(&text)
        .map_err(|error| Error::caused(format!("cannot play the recorded run {}", file.display()), error))?;
    let config = Config::default();
    let archive = Archive::new(played.paths.archive(), config.archive.largest_file, config.log.lock_patience);
    let log = played.paths.log();
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let events = Reader::open(&log, Range::default())?.filter(|line| line.recorded.verdict.is_none());
    let names = events.zip(&played.lines).map(|(event, line)| (event.recorded.id, format!("{stem}:{line}")));
    let names = names.collect();
    let (mut records, problems) = backtest::records(&log, &archive, None)?;
    for record in &mut records {
        // What the scratch store's own recorder was told is nothing that happened.
        record.verdicts.clear();
    }
    Ok(Case { archive, records, problems, names, _played: Some(played) })
}
