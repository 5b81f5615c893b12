//! Checks the chain of the log: that each line is as it was written, in its place, and that none is missing.

mod links;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Finding, Kind};
pub(super) use links::Heads;
use teamkeep_core::store::chain::{ChainHash, ChainPoint};
use teamkeep_core::store::log::{CUT_OFF, Head, LinkedLines, LogChange, Mark, Sealed, SegmentName};
use teamkeep_core::sys::clock::Timestamp;

pub(super) const ALTERED: &str =
    "somebody or something changed the recorded data; compare it with a copy, an export or shipped data";

const CUT_CHANGE: &str = "if its writer was killed, nothing was removed; otherwise somebody or something changed the recorded data";

/// The size and the age of the log's chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChainStats {
    pub head: Option<Head>,
    /// The time of the first line in the chain that is still there; earlier events are not protected.
    pub since: Option<Timestamp>,
    /// How many lines are there.
    pub present: u64,
    /// How many lines were removed by retention or `prune`.
    pub removed: u64,
    /// How many lines an earlier teamkeep wrote, before the chain began.
    pub before: u64,
}

/// Whether a noted head is in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sighting {
    #[default]
    None,
    Same,
    Other,
}

/// Lines of the chain, and where the first of them is.
#[derive(Debug, Clone)]
struct PlacedLines {
    lines: LinkedLines,
    file: usize,
    line: u64,
    /// Whether a finding about its place exists already.
    is_reported: bool,
}

/// The chain as far as it was read.
#[derive(Debug, Default)]
pub(super) struct ChainCheck {
    pub stats: ChainStats,
    files: Vec<PathBuf>,
    present: Vec<PlacedLines>,
    removed: Vec<LinkedLines>,
    /// The first segment of the chain, if its lines were removed.
    first_removed: Option<String>,
    /// The heads to look for.
    sightings: HashMap<ChainPoint, Sighting>,
    singles: BTreeMap<String, ChainHash>,
    adopted: BTreeMap<String, ChainHash>,
    removed_segments: BTreeSet<String>,
    /// The hash of the copy of a segment in a run, by segment and run.
    pub parts: BTreeMap<(String, String), ChainHash>,
    /// For each pruned run, the number of the newest line of the chain about that.
    pub pruned_runs: BTreeMap<String, u64>,
}

/// A problem of one line.
pub(super) type LineProblem = (Kind, String);

impl ChainCheck {
    /// Looks for these heads in the lines that come.
    pub fn look_for(&mut self, heads: impl IntoIterator<Item = ChainPoint>) {
        self.sightings.extend(heads.into_iter().map(|head| (head, Sighting::None)));
    }

    /// Takes the changes, before the segments are read.
    pub fn prepare(&mut self, changes: &[(Option<u64>, LogChange)]) {
        for (number, change) in changes {
            for run in &change.pruned_runs {
                let newest = self.pruned_runs.entry(run.clone()).or_default();
                *newest = (*newest).max(number.unwrap_or(0));
            }
            let chained = change.removed.iter().filter(|removed| !removed.lines.is_empty());
            let first = chained.map(|removed| &removed.segment).chain(&self.first_removed).min().cloned();
            self.first_removed = first;
        }
    }

    pub fn open_file(&mut self, path: &Path) {
        self.files.push(path.to_owned());
    }

    /// Takes one line of a segment. `at` is the line's time, if it can be read.
    pub fn line(
        &mut self,
        segment: &SegmentName,
        (number, line): (u64, &[u8]),
        at: Option<Timestamp>,
    ) -> Option<LineProblem> {
        let Some(sealed) = Sealed::read(line) else {
            let has_begun = !self.present.is_empty()
                || !self.singles.is_empty()
                || self.first_removed.as_deref().is_some_and(|first| first <= segment.as_str());
            self.stats.before += u64::from(!has_begun);
            let what =
                "the line is not in the chain: it was inserted or replaced, or an older teamkeep wrote it";
            return has_begun.then(|| (Kind::UnchainedLine, what.to_owned()));
        };
        if let Some(at) = at {
            self.stats.since.get_or_insert(at);
        }
        self.stats.present += 1;
        let is_misplaced = match (sealed.mark, segment.is_single_line()) {
            (Mark::Chained(_), false) => !self.add(sealed, number),
            (Mark::Single(hash), true) => self.singles.insert(segment.to_string(), hash).is_some(),
            _ => true,
        };
        problem(&sealed, is_misplaced)
    }

    /// Adds a line of the open file. Returns false if it is not after the lines before it.
    fn add(&mut self, sealed: Sealed<'_>, line: u64) -> bool {
        let Mark::Chained(link) = sealed.mark else { return false };
        for (head, seen) in &mut self.sightings {
            if head.count == link.number && *seen != Sighting::Same {
                *seen = if head.hash == link.hash { Sighting::Same } else { Sighting::Other };
            }
        }
        let file = self.files.len().saturating_sub(1);
        let before = self.present.last_mut().filter(|before| before.file == file);
        let (is_later, extended) = match before {
            Some(before) => (before.lines.last < link.number, before.lines.extend(link)),
            None => (true, false),
        };
        if !extended {
            let is_reported = !is_later || !sealed.is_intact();
            self.present.push(PlacedLines { lines: link.into(), file, line, is_reported });
        }
        is_later
    }

    /// Takes one line of the file of changes. Returns a problem with its hint.
    pub fn change(&mut self, (number, line): (u64, &[u8])) -> Option<(LineProblem, &'static str)> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let change = match LogChange::parse(line) {
            Ok(change) => change,
            Err(error) if error.is_eof() => {
                return Some(((Kind::CutLine, CUT_OFF.to_owned()), CUT_CHANGE));
            }
            Err(error) => return Some(((Kind::DamagedLine, error.to_string()), ALTERED)),
        };
        let Some(sealed) = Sealed::read(line) else {
            return Some(((Kind::UnchainedLine, "the line is not in the chain".to_owned()), ALTERED));
        };
        let is_misplaced = !self.add(sealed, number);
        let found = problem(&sealed, is_misplaced);
        if found.is_none() {
            self.apply(change);
        }
        found.map(|found| (found, ALTERED))
    }

    fn apply(&mut self, change: LogChange) {
        self.adopted.extend(change.adopted);
        for removed in change.removed {
            for lines in &removed.lines {
                self.stats.removed += (lines.last - lines.first.min(lines.last)).saturating_add(1);
                let before = lines.first.checked_sub(1).map(|count| ChainPoint { count, hash: lines.after });
                for point in [Some(lines.end()), before].into_iter().flatten() {
                    if let Some(seen) = self.sightings.get_mut(&point) {
                        *seen = Sighting::Same;
                    }
                }
            }
            self.stats.removed += u64::from(removed.single);
            self.removed.extend(removed.lines);
            if removed.whole {
                let key = |run: &String| (removed.segment.clone(), run.clone());
                self.parts.extend(removed.parts.iter().map(|(run, hash)| (key(run), *hash)));
                self.removed_segments.insert(removed.segment);
            }
        }
    }

    /// The lines that were written without the lock and are in the chain, and are missing or changed. Returns the segment and
    /// the problem.
    fn lost_singles(&self) -> Vec<(&str, LineProblem)> {
        let lost = |(segment, hash): (&'_ String, &ChainHash)| match self.singles.get(segment) {
            Some(there) if there == hash => None,
            Some(_) => Some((Kind::AlteredLine, "the line was replaced".to_owned())),
            None if self.removed_segments.contains(segment) => None,
            None => Some((Kind::MissingLines, "the segment is missing".to_owned())),
        };
        let all = self.adopted.iter().filter_map(|one| Some((one.0.as_str(), lost(one)?)));
        all.collect()
    }

    fn finding(&self, kind: Kind, at: &PlacedLines, what: String) -> Finding {
        let path = self.files.get(at.file).map(PathBuf::as_path).unwrap_or(Path::new(""));
        Finding::new(kind, path, what, ALTERED).at(at.line)
    }
}

fn problem(sealed: &Sealed<'_>, is_misplaced: bool) -> Option<LineProblem> {
    if !sealed.is_intact() {
        return Some((
            Kind::AlteredLine,
            "the line does not match its hash: it was changed or forged".to_owned(),
        ));
    }
    let what = "the line is not in its place: it was moved or copied here";
    is_misplaced.then(|| (Kind::MisplacedLine, what.to_owned()))
}

/// The lines of a copy of a segment, in a run's directory.
#[derive(Debug, Default)]
pub(super) struct PartCheck {
    before: Option<LinkedLines>,
    pub hash: ChainHash,
}

impl PartCheck {
    pub fn line(&mut self, line: &[u8]) -> Option<LineProblem> {
        self.hash = self.hash.with_line(line);
        let sealed = Sealed::read(line)?;
        let Mark::Chained(link) = sealed.mark else { return problem(&sealed, false) };
        let before = self.before.replace(link.into());
        let is_misplaced = before.is_some_and(|mut before| match before.last.checked_add(1) {
            // The log itself has the finding about a chain that starts again.
            Some(next) if next == link.number => link.after != ChainHash::START && !before.extend(link),
            next => next.is_none_or(|next| next > link.number),
        });
        problem(&sealed, is_misplaced)
    }
}
