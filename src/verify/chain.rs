//! Checks the chain of a log: that each line is as it was written, in its place, and that none is missing.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::Serialize;

use super::{Finding, Kind};
use teamkeep_core::store::chain::{ChainHash, ChainPoint, InvalidPoint};
use teamkeep_core::store::log::{EventLog, Link, LogOwner, Mark, Sealed, SegmentName};

pub(super) const ALTERED: &str =
    "somebody or something changed the recorded data; compare it with a copy, an export or shipped data";

const HEAD: &str =
    "a deleted or restored events.lock, or one that another program wrote; the next hook call stores a head";

/// How much the chains cover.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChainStats {
    pub logs: u64,
    pub lines: u64,
}

/// The head of a log: `LOG:COUNT:HASH`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogHead {
    /// The ID of a run, or `session-` and that of a session.
    pub log: String,
    #[serde(flatten)]
    pub point: ChainPointParts,
}

/// A place in a chain, as two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ChainPointParts {
    pub count: u64,
    pub hash: ChainHash,
}

impl LogHead {
    /// The head of a log; `None` if it has no lines.
    pub fn of(log: &EventLog) -> Option<LogHead> {
        let ChainPoint { count, hash } = log.head()?;
        (count > 0).then(|| LogHead { log: log.owner.to_string(), point: ChainPointParts { count, hash } })
    }

    fn point(&self) -> ChainPoint {
        ChainPoint { count: self.point.count, hash: self.point.hash }
    }
}

impl fmt::Display for LogHead {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.log, self.point())
    }
}

impl FromStr for LogHead {
    type Err = InvalidPoint;

    fn from_str(text: &str) -> Result<LogHead, InvalidPoint> {
        let (log, point) = text.split_once(':').filter(|(log, _)| !log.is_empty()).ok_or(InvalidPoint)?;
        let ChainPoint { count, hash } = point.parse()?;
        Ok(LogHead { log: log.to_owned(), point: ChainPointParts { count, hash } })
    }
}

/// Whether a head is in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sighting {
    #[default]
    None,
    Same,
    Other,
}

/// The chain of one log as far as it was read.
#[derive(Debug)]
pub(super) struct ChainCheck<'a> {
    log: &'a EventLog,
    /// The head before the lines were read. Hook calls may have written more.
    head: Option<ChainPoint>,
    /// The heads to look for: that one, and those that were noted earlier.
    sightings: Vec<(ChainPoint, Sighting)>,
    first: Option<u64>,
    last: Option<Link>,
    /// The number of the last line, if it was misplaced: those that follow it are with it.
    misplaced: Option<u64>,
    pub lines: u64,
    /// Whether retention removed a segment meanwhile.
    pub is_pruned: bool,
}

/// A problem of one line.
pub(super) type LineProblem = (Kind, String);

impl<'a> ChainCheck<'a> {
    /// To be called before the log's directory is listed.
    pub fn new(log: &'a EventLog, noted: &[LogHead]) -> ChainCheck<'a> {
        let head = log.head();
        let name = log.owner.to_string();
        let own = noted.iter().filter(|noted| noted.log == name).map(LogHead::point);
        let sightings = head.into_iter().chain(own).map(|point| (point, Sighting::None)).collect();
        ChainCheck {
            log,
            head,
            sightings,
            first: None,
            last: None,
            misplaced: None,
            lines: 0,
            is_pruned: false,
        }
    }

    /// Takes one line of a segment.
    pub fn line(&mut self, segment: &SegmentName, line: &[u8]) -> Option<LineProblem> {
        let Some(sealed) = Sealed::read(line) else {
            let what = "the line is not in the chain: it was inserted or replaced";
            return Some((Kind::UnchainedLine, what.to_owned()));
        };
        self.lines += 1;
        let linked = match (sealed.mark, segment.is_single()) {
            (Mark::Single(_), true) => None,
            (Mark::Chained(link), false) => self.link(link),
            _ => Some(misplaced()),
        };
        if sealed.is_intact() {
            return linked;
        }
        Some((Kind::AlteredLine, "the line does not match its hash: it was changed or forged".to_owned()))
    }

    fn link(&mut self, link: Link) -> Option<LineProblem> {
        for (head, seen) in self.sightings.iter_mut().filter(|(head, _)| head.count == link.number) {
            *seen = if head.hash == link.hash { Sighting::Same } else { Sighting::Other };
        }
        let due = self.last.map_or(1, |last| last.number.saturating_add(1));
        if link.number < due {
            let before = self.misplaced.replace(link.number);
            let is_with_it = before.is_some_and(|before| before.checked_add(1) == Some(link.number));
            return if is_with_it { None } else { Some(misplaced()) };
        }
        self.misplaced = None;
        let is_first = self.last.is_none();
        self.first.get_or_insert(link.number);
        let last = self.last.replace(link).map_or(ChainHash::START, |last| last.hash);
        match () {
            // Retention removes the first segments of a session without a run.
            () if (is_first || self.is_pruned) && link.number > due && self.is_of_session() => None,
            () if link.number > due => Some((Kind::MissingLines, missing(due, link.number - 1))),
            () if link.after == last => None,
            () if link.after == ChainHash::START => {
                let what = "the chain starts again here, because its head was missing: lines before may have been removed";
                Some((Kind::RestartedChain, what.to_owned()))
            }
            () => {
                let (number, before) = (link.number, link.number - 1);
                let what = format!(
                    "line {number} of the chain does not continue line {before}: one of them was replaced"
                );
                Some((Kind::BrokenChain, what))
            }
        }
    }

    fn is_of_session(&self) -> bool {
        matches!(self.log.owner, LogOwner::Session(_))
    }

    /// Compares the end of a segment that was read with its name.
    pub fn end_segment(&self, segment: &SegmentName) -> Option<LineProblem> {
        let end = segment.end()?;
        let last = self.last.map(|last| last.point()).unwrap_or_default();
        match () {
            () if last == end => None,
            () if last.count < end.count => Some(truncated(last.count, end.count)),
            () => {
                Some((Kind::HeadMismatch, "its last line is not the one that it is named after".to_owned()))
            }
        }
    }

    /// The problems of the whole log.
    pub fn finish(&self) -> Vec<Finding> {
        let lock = self.log.dir().join("events.lock");
        let last = self.last.map_or(0, |last| last.number);
        let mut findings = Vec::new();
        let mut sightings = self.sightings.iter();
        match self.head {
            None if last > 0 && self.log.head().is_none() => {
                let what = "the head of the log's chain is missing: lines may have been removed from the end";
                findings.push(Finding::new(Kind::MissingHead, &lock, what, HEAD));
            }
            None => {}
            Some(head) => {
                let seen = sightings.next().map_or(Sighting::None, |(_, seen)| *seen);
                // Retention removes all segments before the directory.
                let is_removed = self.is_of_session() && (last == 0 || self.is_pruned);
                let problem = match seen {
                    _ if head.count > last && is_removed => None,
                    _ if head.count > last => Some(truncated(last, head.count)),
                    Sighting::Other => {
                        let what = format!(
                            "line {} of the log has another hash than its head: it was replaced",
                            head.count
                        );
                        Some((Kind::HeadMismatch, what))
                    }
                    _ => None,
                };
                findings.extend(problem.map(|(kind, what)| Finding::new(kind, &lock, what, HEAD)));
            }
        }
        findings.extend(sightings.filter_map(|(noted, seen)| {
            let count = noted.count;
            let (kind, what) = match seen {
                Sighting::Same => return None,
                Sighting::Other => {
                    (Kind::HeadMismatch, format!("line {count} has another hash: the log was rewritten"))
                }
                Sighting::None if self.first.is_some_and(|first| count < first) => (
                    Kind::RemovedHead,
                    format!("retention or somebody removed line {count}, so it cannot be compared"),
                ),
                Sighting::None if count > last => {
                    (Kind::HeadMismatch, format!("the log ends with line {last}: it was replaced or cut off"))
                }
                Sighting::None => (Kind::HeadMismatch, format!("line {count} is missing")),
            };
            let what = format!("{}:{noted} was noted, but {what}", self.log.owner);
            Some(Finding::new(kind, self.log.dir(), what, ALTERED))
        }));
        findings
    }
}

/// The finding about a noted head whose log is missing.
pub(super) fn without_log(noted: &LogHead, store: &Path) -> Finding {
    let kind = if noted.log.starts_with("session-") { Kind::RemovedHead } else { Kind::MissingRun };
    let what =
        format!("{noted} was noted, but the log does not exist: `prune`, retention or somebody removed it");
    Finding::new(kind, store, what, ALTERED)
}

fn misplaced() -> LineProblem {
    (Kind::MisplacedLine, "the line is not in its place: it was moved or copied here".to_owned())
}

fn missing(from: u64, to: u64) -> String {
    match from == to {
        true => format!("line {from} of the chain is missing before this line"),
        false => format!("lines {from} to {to} of the chain are missing before this line"),
    }
}

fn truncated(last: u64, written: u64) -> LineProblem {
    let what =
        format!("it ends with line {last} of the chain, but line {written} was written: its end was removed");
    (Kind::TruncatedLog, what)
}
