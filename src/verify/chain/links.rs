//! Checks how the lines of the whole log are linked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::{ALTERED, ChainCheck, PlacedLines, Sighting};
use crate::verify::{Finding, Kind};
use teamkeep_core::store::chain::{ChainHash, ChainPoint};
use teamkeep_core::store::log::{Head, LinkedLines, changes_path};

const HEAD: &str =
    "a deleted or restored log/.lock, or one that another program wrote; the next hook call stores a head";

/// The numbers of lines.
type Numbers = (u64, u64);

/// The head before and after the segments were read. Between them, hook calls wrote lines that may not have been read.
#[derive(Debug, Clone, Copy)]
pub(in crate::verify) struct Heads {
    pub before: Option<Head>,
    pub after: Option<Head>,
}

impl Heads {
    /// Whether a line with this number may have been written during the check.
    fn is_recent(&self, number: u64) -> bool {
        let count = |head: Option<Head>| head.map_or(0, |head| head.count);
        number > count(self.before)
            && number <= count(self.after).saturating_add(1)
            && self.before != self.after
    }
}

impl ChainCheck {
    /// The problems of the whole chain, and whether it has this head that was noted earlier.
    pub fn finish(&self, log: &Path, heads: Heads, noted: &[ChainPoint]) -> Vec<Finding> {
        let mut findings = self.links(heads);
        let lock = log.join(".lock");
        let of_lock = |kind, what: String| Finding::new(kind, &lock, what, HEAD);
        let newest = self.newest();
        match heads.before {
            Some(head) if head.count > newest => {
                let what = format!(
                    "the log ends with line {newest} of its chain, but line {} was written: its end was removed",
                    head.count
                );
                findings.push(of_lock(Kind::TruncatedLog, what));
            }
            Some(head) if self.sighting(head.point()) == Sighting::Other => {
                let what =
                    format!("line {} of the log has another hash than its head: it was replaced", head.count);
                findings.push(of_lock(Kind::HeadMismatch, what));
            }
            None if newest > 0 && heads.after.is_none() => {
                let what = "the head of the log's chain is missing: lines may have been removed from the end";
                findings.push(of_lock(Kind::MissingHead, what.to_owned()));
            }
            _ => {}
        }
        findings.extend(noted.iter().filter_map(|noted| self.noted(log, *noted)));
        let singles = self.lost_singles().into_iter();
        findings
            .extend(singles.map(|(name, (kind, what))| Finding::new(kind, &log.join(name), what, ALTERED)));
        findings
    }

    fn noted(&self, log: &Path, noted: ChainPoint) -> Option<Finding> {
        let ChainPoint { count, .. } = noted;
        let is_removed = self.removed.iter().any(|lines| lines.first <= count && count <= lines.last);
        let (kind, what) = match self.sighting(noted) {
            Sighting::Same => return None,
            Sighting::None if is_removed => {
                let what =
                    format!("line {count} was removed by retention or prune, so {noted} cannot be compared");
                (Kind::RemovedHead, what)
            }
            Sighting::None if count > self.newest() => {
                let what = format!(
                    "{noted} was noted, but the log ends with line {}: it was replaced",
                    self.newest()
                );
                (Kind::HeadMismatch, what)
            }
            Sighting::None => (Kind::HeadMismatch, format!("{noted} was noted, but line {count} is missing")),
            Sighting::Other => {
                let what =
                    format!("{noted} was noted, but line {count} has another hash: the log was rewritten");
                (Kind::HeadMismatch, what)
            }
        };
        Some(Finding::new(kind, log, what, ALTERED))
    }

    fn sighting(&self, head: ChainPoint) -> Sighting {
        self.sightings.get(&head).copied().unwrap_or_default()
    }

    /// The number of the newest line.
    fn newest(&self) -> u64 {
        let present = self.present.iter().map(|placed| placed.lines.last);
        present.chain(self.removed.iter().map(|lines| lines.last)).max().unwrap_or(0)
    }

    fn links(&self, heads: Heads) -> Vec<Finding> {
        let removed: BTreeSet<Numbers> = self.removed.iter().map(|lines| (lines.first, lines.last)).collect();
        let mut numbers = removed.clone();
        numbers.extend(self.present.iter().map(|placed| (placed.lines.first, placed.lines.last)));
        let gaps = gaps(&numbers);
        let ends: HashSet<ChainPoint> = self
            .present
            .iter()
            .map(|placed| placed.lines.end())
            .chain(self.removed.iter().map(LinkedLines::end))
            .collect();
        let firsts: HashSet<u64> = self.present.iter().map(|placed| placed.lines.first).collect();
        let (mut starts, mut findings) = (0, Vec::new());
        for placed in &self.present {
            let LinkedLines { first, after, .. } = placed.lines;
            if after == ChainHash::START {
                starts += 1 + u64::from(first > 1);
                if starts > 1 && !placed.is_reported {
                    let what = "the chain starts again here, because its head was missing: lines before may have been removed";
                    findings.push(self.finding(Kind::RestartedChain, placed, what.to_owned()));
                }
                continue;
            }
            let Some(count) = first.checked_sub(1) else {
                findings.push(self.finding(Kind::BrokenChain, placed, "a line has the number 0".to_owned()));
                continue;
            };
            if ends.contains(&ChainPoint { count, hash: after }) || heads.is_recent(first) {
                continue;
            }
            if let Ok(at) = gaps.binary_search_by_key(&count, |(_, to)| *to) {
                let (from, to) = gaps[at];
                let what = match from == to {
                    true => format!("line {from} of the chain is missing before this line"),
                    false => format!("lines {from} to {to} of the chain are missing before this line"),
                };
                findings.push(self.finding(Kind::MissingLines, placed, what));
            } else if !placed.is_reported {
                let what = format!(
                    "line {first} of the chain does not continue line {count}: one of them was replaced"
                );
                findings.push(self.finding(Kind::BrokenChain, placed, what));
            }
        }
        findings.extend(self.gaps_before_removed(&gaps, &removed, &firsts));
        if starts <= 1 {
            findings.extend(self.moved());
        }
        findings
    }

    /// Missing lines after a line that is there and before lines that were removed rightfully.
    fn gaps_before_removed(
        &self,
        gaps: &[Numbers],
        removed: &BTreeSet<Numbers>,
        firsts: &HashSet<u64>,
    ) -> Vec<Finding> {
        let before: HashMap<u64, &PlacedLines> =
            self.present.iter().map(|placed| (placed.lines.last, placed)).collect();
        let mut findings = Vec::new();
        for (from, to) in gaps {
            let is_removed =
                |next: u64| removed.range((next, 0)..).next().is_some_and(|(first, _)| *first == next);
            let is_silent = to.checked_add(1).is_some_and(|next| !firsts.contains(&next) && is_removed(next));
            if let Some(before) = before.get(&(from - 1)).filter(|_| is_silent) {
                let what = format!(
                    "lines {from} to {to} of the chain are missing after this line and those that follow it"
                );
                findings.push(self.finding(Kind::MissingLines, before, what));
            }
        }
        findings
    }

    /// Lines that are linked, but in another place than they were written to.
    fn moved(&self) -> Vec<Finding> {
        let changes = |placed: &PlacedLines| {
            self.files
                .get(placed.file)
                .is_some_and(|path| path.parent().map(changes_path).as_ref() == Some(path))
        };
        let mut sorted: Vec<&PlacedLines> = self.present.iter().filter(|placed| !changes(placed)).collect();
        sorted.sort_by_key(|placed| placed.lines.first);
        let mut findings = Vec::new();
        let mut last = 0;
        for placed in &sorted {
            if placed.lines.first <= last && !placed.is_reported {
                let what = format!("line {} of the chain exists twice", placed.lines.first);
                findings.push(self.finding(Kind::MisplacedLine, placed, what));
            }
            last = last.max(placed.lines.last);
        }
        // Numbers that a file leaves out must not be in another one.
        let of_segments = self.present.iter().zip(self.present.iter().skip(1));
        for (before, next) in of_segments.filter(|(before, next)| before.file == next.file && !changes(next))
        {
            let from = sorted.partition_point(|placed| placed.lines.first <= before.lines.last);
            let between = sorted[from..].iter().take_while(|placed| placed.lines.first < next.lines.first);
            if let Some(other) = between.into_iter().find(|placed| placed.file != next.file) {
                let what = "the line is not in its place: it was moved here from another segment";
                findings.push(self.finding(Kind::MisplacedLine, other, what.to_owned()));
            }
        }
        findings
    }
}

/// The numbers that are missing, from 1 on.
fn gaps(numbers: &BTreeSet<Numbers>) -> Vec<Numbers> {
    let (mut gaps, mut next) = (Vec::new(), 1);
    for (first, last) in numbers {
        if *first > next {
            gaps.push((next, first - 1));
        }
        next = next.max(last.saturating_add(1));
    }
    gaps
}
