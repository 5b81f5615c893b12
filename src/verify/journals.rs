//! Checks journals against the states that the events of the log name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::chain::ALTERED;
use super::check::Check;
use super::{Finding, Kind};
use teamkeep_core::store::archive::JournalPoint;
use teamkeep_core::store::chain::{ChainHash, ChainPoint};
use teamkeep_core::store::log::{Mark, Sealed};

/// The states of one journal.
#[derive(Debug, Default)]
pub(super) struct JournalStates {
    /// The line and the hash, by size in bytes.
    states: HashMap<u64, (u64, ChainHash)>,
    last: ChainPoint,
    lines: u64,
}

impl JournalStates {
    fn line(&mut self, number: u64, line: &[u8]) {
        let count = self.last.count + line.len() as u64 + 1;
        self.last = ChainPoint { count, hash: self.last.hash.with_line(line) };
        self.lines = number;
        self.states.insert(count, (number, self.last.hash));
    }

    fn has(&self, point: &ChainPoint) -> bool {
        self.states.get(&point.count).is_some_and(|(_, hash)| *hash == point.hash)
    }
}

/// A state that an event names.
#[derive(Debug)]
struct NamedState {
    point: ChainPoint,
    event: String,
}

#[derive(Debug, Default)]
struct JournalCheck {
    path: PathBuf,
    states: JournalStates,
    /// The newest named state that the journal has, and those that it does not have.
    good: ChainPoint,
    bad: Vec<NamedState>,
    /// Whether a finding about one of its lines exists already.
    is_damaged: bool,
}

/// The journals by run and file name.
#[derive(Debug, Default)]
pub(super) struct JournalChecks {
    journals: BTreeMap<String, BTreeMap<String, JournalCheck>>,
    missing_runs: BTreeSet<String>,
}

/// Maximum number of missing states to keep.
const MAX_BAD: usize = 1_000;

#[derive(Deserialize)]
struct Naming {
    id: String,
    #[serde(default)]
    snapshots: BTreeMap<String, String>,
}

const FIELD: &str = "\"snapshots\":{";

impl Check<'_> {
    /// Notes a line of a journal.
    pub fn journal_line(&mut self, run: &str, path: &Path, (number, line): (u64, &[u8])) {
        self.journal_check(run, path).states.line(number, line);
    }

    pub fn journal_is_damaged(&mut self, run: &str, path: &Path) {
        self.journal_check(run, path).is_damaged = true;
    }

    fn journal_check(&mut self, run: &str, path: &Path) -> &mut JournalCheck {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name).to_owned();
        let journals = self.journals.journals.entry(run.to_owned()).or_default();
        let check = journals.entry(name).or_default();
        if check.path.as_os_str().is_empty() {
            check.path = path.to_owned();
        }
        check
    }

    /// Compares the states that an event names. `only` is the run whose copy of the event this is.
    pub fn named_states(&mut self, line: &[u8], only: Option<&str>) {
        let has_states = std::str::from_utf8(line).is_ok_and(|text| text.contains(FIELD));
        let naming = if has_states { serde_json::from_slice::<Naming>(line).ok() } else { None };
        let Some(Naming { id, snapshots }) = naming else { return };
        let number = match Sealed::read(line).map(|sealed| sealed.mark) {
            Some(Mark::Chained(link)) => Some(link.number),
            _ => None,
        };
        let (archive, single) = (self.verifier.archive, self.single_run().or(only));
        for (run, point) in snapshots.iter().filter(|(run, _)| single.is_none_or(|single| single == *run)) {
            let Ok(named) = point.parse::<JournalPoint>() else { continue };
            // It was removed since, and may have begun again.
            let pruned = self.chain.pruned_runs.get(run).copied();
            if pruned.is_some_and(|pruned| number.is_none_or(|number| number < pruned)) {
                continue;
            }
            let Some(dir) = archive.run_dir(run) else { continue };
            if !dir.exists() {
                self.missing_run(run, &dir);
            } else if archive.run(run).is_none_or(|record| record.imported.is_none()) {
                let path = dir.join(named.file_name(&id));
                self.journal_check(run, &path).compare(NamedState { point: named.point, event: id.clone() });
            }
        }
    }

    /// Reports a run whose directory is missing.
    pub fn missing_run(&mut self, run: &str, dir: &Path) {
        if self.journals.missing_runs.insert(run.to_owned()) {
            let what = "the run is missing, and `prune` did not remove it".to_owned();
            self.findings.add(Finding::new(Kind::MissingRun, dir, what, ALTERED).of_run(run));
        }
    }

    /// Reports the journals that are not as events name them.
    pub fn finish_journals(&mut self) {
        for (run, journals) in std::mem::take(&mut self.journals.journals) {
            for (_, check) in journals {
                if let Some(finding) = self.altered_journal(check) {
                    self.findings.add(finding.of_run(&run));
                }
            }
        }
    }

    fn altered_journal(&mut self, mut check: JournalCheck) -> Option<Finding> {
        if check.is_damaged || check.bad.is_empty() {
            return None;
        }
        // A hook call may have added lines after the journal was read, and before the log was.
        let mut now = JournalStates::default();
        let read = self.each_line(&check.path, |_, number, line| now.line(number, &line));
        if read.is_none() {
            check.bad.retain(|named| !now.has(&named.point));
        }
        let first = check.bad.iter().min_by_key(|named| named.point.count)?;
        let good = now.states.get(&check.good.count).map_or(0, |(line, _)| *line);
        let what = match now.last.count < first.point.count && now.has(&check.good) {
            true => {
                format!("its end is missing: event {} added a line after line {}", first.event, now.lines)
            }
            false => format!(
                "its lines are not those that event {} names: a line was changed, removed or inserted here or after",
                first.event
            ),
        };
        let line = (good + 1).min(now.lines.max(1));
        Some(Finding::new(Kind::AlteredJournal, &check.path, what, ALTERED).at(line))
    }
}

impl JournalCheck {
    fn compare(&mut self, named: NamedState) {
        if self.states.has(&named.point) {
            if named.point.count > self.good.count {
                self.good = named.point;
            }
        } else if self.bad.len() < MAX_BAD {
            self.bad.push(named);
        }
    }
}
