//! Checks journals against the states that the events of the log name.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::chain::ALTERED;
use super::{Finding, Kind};
use teamkeep_core::store::chain::{ChainHash, ChainPoint};
use teamkeep_core::sys::clock::Timestamp;

/// The states of one journal.
#[derive(Debug, Default)]
pub(super) struct JournalStates {
    /// The line and the hash, by size in bytes.
    states: HashMap<u64, (u64, ChainHash)>,
    last: ChainPoint,
    lines: u64,
}

impl JournalStates {
    /// Adds a line.
    pub fn line(&mut self, number: u64, line: &[u8]) {
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

/// A journal, and how it compares with the events.
#[derive(Debug, Default)]
pub(super) struct JournalCheck {
    pub path: PathBuf,
    pub states: JournalStates,
    /// The newest named state that the journal has, and those that it does not have.
    good: ChainPoint,
    bad: Vec<NamedState>,
    /// Whether a finding about one of its lines exists already.
    pub is_damaged: bool,
}

/// The journals by run and file name.
#[derive(Debug, Default)]
pub(super) struct JournalChecks {
    pub journals: BTreeMap<String, BTreeMap<String, JournalCheck>>,
}

/// Maximum number of missing states to keep.
const MAX_BAD: usize = 1_000;

/// The states that an event names, by run.
#[derive(Deserialize)]
pub(super) struct Naming {
    pub id: String,
    #[serde(default)]
    pub at: Timestamp,
    #[serde(default)]
    pub snapshots: BTreeMap<String, String>,
}

const UNNAMED: &str =
    "their files were on the disk at that moment if a hook was killed; compare with other lines";
const FIELD: &str = "\"snapshots\":{";

impl Naming {
    /// The states that an event names, if it names any.
    pub fn of_event(line: &[u8]) -> Option<Naming> {
        let has_states = std::str::from_utf8(line).is_ok_and(|text| text.contains(FIELD));
        if has_states { serde_json::from_slice(line).ok() } else { None }
    }
}

impl JournalChecks {
    /// The check of the journal with this path, compressed or not.
    pub fn of(&mut self, run: &str, path: &Path) -> &mut JournalCheck {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name).to_owned();
        let check = self.journals.entry(run.to_owned()).or_default().entry(name).or_default();
        if check.path.as_os_str().is_empty() {
            check.path = path.to_owned();
        }
        check
    }
}

impl JournalCheck {
    /// Compares a state that an event names.
    pub fn compare(&mut self, point: ChainPoint, event: &str) {
        if self.states.has(&point) {
            if point.count > self.good.count {
                self.good = point;
            }
        } else if self.bad.len() < MAX_BAD {
            self.bad.push(NamedState { point, event: event.to_owned() });
        }
    }

    /// Lines at its end that no event names.
    pub fn unnamed(&self) -> Option<Finding> {
        let named = self.states.states.get(&self.good.count).map_or(0, |(line, _)| *line);
        (self.bad.is_empty() && !self.is_damaged && named < self.states.lines).then(|| {
            let what = "no event names this line or those after it: the hook call that wrote them was killed, its run was pruned, or somebody added them";
            Finding::new(Kind::UnnamedJournal, &self.path, what, UNNAMED).at(named + 1)
        })
    }

    /// Whether events name states that it does not have, and no other finding explains that.
    pub fn is_suspect(&self) -> bool {
        !self.is_damaged && !self.bad.is_empty()
    }

    /// How it differs from what the events name; `now` has its present states, as far as they can be read.
    pub fn alteration(&self, now: &JournalStates, is_read: bool) -> Option<Finding> {
        let missing = self.bad.iter().filter(|named| !is_read || !now.has(&named.point));
        let first = missing.min_by_key(|named| named.point.count)?;
        let good = now.states.get(&self.good.count).map_or(0, |(line, _)| *line);
        let what = match now.last.count < first.point.count && now.has(&self.good) {
            true => {
                format!("its end is missing: event {} added a line after line {}", first.event, now.lines)
            }
            false => format!(
                "its lines are not those that event {} names: a line was changed, removed or inserted here or after",
                first.event
            ),
        };
        let line = (good + 1).min(now.lines.max(1));
        Some(Finding::new(Kind::AlteredJournal, &self.path, what, ALTERED).at(line))
    }
}
