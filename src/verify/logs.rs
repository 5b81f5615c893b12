//! Checks the logs: their lines, which states of journals they name, and their chain: that each line is as it was written, in its place,
//! and that none is missing.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::str::FromStr;
use std::{fmt, io};

use serde::{Deserialize, Serialize};

use super::{Check, Damage, DamageKind, Scope, UPGRADE};
use teamkeep_store::archive::JournalPoint;
use teamkeep_store::chain::{ChainHash, ChainPoint, InvalidPoint};
use teamkeep_store::log::{
    self, EventLog, Line, LineError, Link, LogOwner, Mark, Sealed, Segment, SegmentName,
};

const PERMISSIONS: &str = "check its permissions";
const EVENT: &str = "this event is lost; all other events are intact, and recording continues";

/// Event ids seen so far, as hashes: a log may have millions.
#[derive(Default)]
struct SeenIds {
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl SeenIds {
    fn is_new(&mut self, id: &str) -> bool {
        self.seen.insert(self.hasher.hash_one(id))
    }
}

/// The states of journals that an event names, by run.
#[derive(Deserialize)]
struct Naming {
    #[serde(default)]
    snapshots: BTreeMap<String, String>,
}

impl Check<'_> {
    /// Checks the logs in the scope.
    pub fn logs(&mut self) {
        let (verifier, mut ids) = (self.verifier, SeenIds::default());
        let dir = verifier.archive.runs_dir();
        let logs = match verifier.scoped_logs() {
            Ok(logs) => logs,
            // The directory of the runs is reported already.
            Err(_) if verifier.archive.why_unlisted().is_some() => return,
            Err(error) => {
                return self.add(Damage::new(DamageKind::DamagedFile, &dir, error.to_string(), PERMISSIONS));
            }
        };
        logs.iter().for_each(|log| self.log(log, &mut ids));
        if verifier.scope == Scope::All {
            let owners: HashSet<String> = logs.iter().map(|log| log.owner.to_string()).collect();
            for noted in verifier.against.iter().filter(|noted| !owners.contains(&noted.log)) {
                self.add(without_log(noted, &dir));
            }
        }
    }

    fn log(&mut self, log: &EventLog, ids: &mut SeenIds) {
        let run = if let LogOwner::Run(run) = &log.owner { Some(run.clone()) } else { None };
        let mut chain = ChainCheck::new(log, self.verifier.against);
        let segments = log.segments().unwrap_or_else(|error| {
            let finding = Damage::new(DamageKind::DamagedFile, log.dir(), error.to_string(), PERMISSIONS);
            self.add(Damage { run: run.clone(), ..finding });
            Vec::new()
        });
        for segment in &segments {
            let read = match segment.name {
                SegmentName::Imported => self.events(segment, None, &mut SeenIds::default(), run.as_deref()),
                _ => self.events(segment, Some(&mut chain), ids, run.as_deref()),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::NotFound => chain.is_pruned = true,
                Err(error) => {
                    let finding =
                        Damage::new(DamageKind::DamagedFile, &segment.path(), error.to_string(), PERMISSIONS);
                    self.add(Damage { run: run.clone(), ..finding });
                }
                Ok(()) => {}
            }
        }
        self.findings.chain.logs += u64::from(chain.lines > 0);
        self.findings.chain.lines += chain.lines;
        for finding in chain.finish() {
            self.add(Damage { run: run.clone(), ..finding });
        }
    }

    /// Checks the lines of a segment, and that the chain has them.
    fn events(
        &mut self,
        segment: &Segment,
        mut chain: Option<&mut ChainCheck<'_>>,
        ids: &mut SeenIds,
        run: Option<&str>,
    ) -> io::Result<()> {
        let path = segment.path();
        self.each_line(&path, segment.open()?, |check, number, line| {
            let linked = chain.as_mut().and_then(|chain| chain.line(&segment.name, &line));
            let (kind, what, hint) = match log::parse(Some(line)) {
                Ok(None) => return,
                Ok(Some(line)) => {
                    check.findings.checked.events += 1;
                    let id = &line.recorded.id;
                    match (line.recorded.flaw(), linked) {
                        (Some(what), _) => (DamageKind::DamagedLine, what, EVENT),
                        _ if !ids.is_new(id) => {
                            (DamageKind::RepeatedId, format!("another line has the id {id}"), EVENT)
                        }
                        (None, Some((kind, what))) => (kind, what, ALTERED),
                        // States that an altered line names are not compared.
                        (None, None) if chain.is_some() => return check.note_states(&line),
                        (None, None) => return,
                    }
                }
                Err(LineError::CutOff) => (DamageKind::CutLine, log::CUT_OFF.to_owned(), EVENT),
                Err(LineError::NewerVersion(newer)) => {
                    (DamageKind::NewerVersion, format!("format version {newer}"), UPGRADE)
                }
                Err(error) => (DamageKind::DamagedLine, error.to_string(), EVENT),
            };
            let finding = Damage::new(kind, &path, what, hint).at(number);
            check.add(Damage { run: run.map(str::to_owned), ..finding });
        })
    }

    /// Notes the states of journals that an event names.
    fn note_states(&mut self, line: &Line) {
        if !line.text.contains("\"snapshots\":{") {
            return;
        }
        let (archive, event) = (self.verifier.archive, &line.recorded);
        let Ok(Naming { snapshots }) = serde_json::from_str(&line.text) else { return };
        for (run, point) in snapshots {
            let Ok(named) = point.parse::<JournalPoint>() else { continue };
            // A run that was pruned and began again has another journal.
            if archive.run(&run).is_none_or(|run| event.at >= run.started_at || run.imported.is_some()) {
                let journals = self.named.entry(run).or_default();
                let states = journals.entry(named.file_name(&event.id)).or_default();
                states.insert(named.point, event.id.clone());
            }
        }
    }
}

pub(super) const ALTERED: &str =
    "somebody or something changed the recorded data; compare it with a copy, an export or shipped data";

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
    pub count: u64,
    pub hash: ChainHash,
}

impl LogHead {
    /// The head of a log; `None` if it has no lines.
    pub fn of(log: &EventLog) -> Option<LogHead> {
        let ChainPoint { count, hash } = log.head()?;
        (count > 0).then(|| LogHead { log: log.owner.to_string(), count, hash })
    }
}

impl fmt::Display for LogHead {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.log, self.count, self.hash)
    }
}

impl FromStr for LogHead {
    type Err = InvalidPoint;

    fn from_str(text: &str) -> Result<LogHead, InvalidPoint> {
        let (log, point) = text.split_once(':').filter(|(log, _)| !log.is_empty()).ok_or(InvalidPoint)?;
        let ChainPoint { count, hash } = point.parse()?;
        Ok(LogHead { log: log.to_owned(), count, hash })
    }
}

/// A head that the chain must have.
#[derive(Debug)]
struct ExpectedHead {
    point: ChainPoint,
    /// Whether it was noted earlier. The other one is the present head.
    is_noted: bool,
    /// The hash that its line has.
    found: Option<ChainHash>,
}

/// The chain of one log as far as it was read.
#[derive(Debug)]
struct ChainCheck<'a> {
    log: &'a EventLog,
    heads: Vec<ExpectedHead>,
    first: Option<u64>,
    last: ChainPoint,
    /// The number of the last line, if it was misplaced: those that follow it are with it.
    misplaced: Option<u64>,
    pub lines: u64,
    /// Whether retention removed a segment meanwhile.
    pub is_pruned: bool,
}

/// A problem of one line.
type LineProblem = (DamageKind, String);

impl<'a> ChainCheck<'a> {
    /// To be called before the log's directory is listed: hook calls may write more lines.
    pub fn new(log: &'a EventLog, noted: &[LogHead]) -> ChainCheck<'a> {
        let (now, name) = (log.head().map(|point| (point, false)), log.owner.to_string());
        let noted = noted.iter().filter(|noted| noted.log == name);
        let noted = noted.map(|noted| (ChainPoint { count: noted.count, hash: noted.hash }, true));
        let heads = now.into_iter().chain(noted);
        let heads = heads.map(|(point, is_noted)| ExpectedHead { point, is_noted, found: None }).collect();
        let (first, last, misplaced) = (None, ChainPoint::default(), None);
        ChainCheck { log, heads, first, last, misplaced, lines: 0, is_pruned: false }
    }

    /// Takes one line of a segment.
    pub fn line(&mut self, segment: &SegmentName, line: &[u8]) -> Option<LineProblem> {
        let Some(sealed) = Sealed::read(line) else { return Some(misplaced()) };
        self.lines += 1;
        let linked = match (sealed.mark, segment.is_single()) {
            (Mark::Single(_), true) => None,
            (Mark::Chained(link), false) => self.link(link),
            _ => Some(misplaced()),
        };
        if sealed.is_intact() {
            return linked;
        }
        Some((
            DamageKind::AlteredLine,
            "the line does not match its hash: it was changed or forged".to_owned(),
        ))
    }

    fn link(&mut self, link: Link) -> Option<LineProblem> {
        for head in self.heads.iter_mut().filter(|head| head.point.count == link.number) {
            head.found = Some(link.hash);
        }
        let (before, due) = (self.last, self.last.count.saturating_add(1));
        if link.number < due {
            let former = self.misplaced.replace(link.number).and_then(|former| former.checked_add(1));
            return (former != Some(link.number)).then(misplaced);
        }
        self.misplaced = None;
        self.first.get_or_insert(link.number);
        self.last = link.point();
        match link.after {
            // Retention removes the first segments of a session without a run.
            _ if link.number > due && self.is_of_session() && (due == 1 || self.is_pruned) => None,
            _ if link.number > due => {
                let what = format!("lines {due} to {} of the chain are missing before it", link.number - 1);
                Some((DamageKind::MissingLines, what))
            }
            after if after == before.hash => None,
            ChainHash::START => {
                let what = "the chain starts again here, because its head was missing: lines before may have been removed";
                Some((DamageKind::MissingHead, what.to_owned()))
            }
            _ => {
                let what = format!("line {} of the chain does not continue line {}", due, before.count);
                Some((DamageKind::AlteredLine, format!("{what}: one of them was replaced")))
            }
        }
    }

    fn is_of_session(&self) -> bool {
        matches!(self.log.owner, LogOwner::Session(_))
    }

    /// The problems of the whole log.
    pub fn finish(&self) -> Vec<Damage> {
        let (lock, last) = (self.log.dir().join("events.lock"), self.last.count);
        let mut findings = Vec::new();
        let is_headless = self.heads.iter().all(|head| head.is_noted);
        if is_headless && last > 0 && self.log.head().is_none() {
            let what = "the head of the log's chain is missing: lines may have been removed from the end";
            findings.push(Damage::new(DamageKind::MissingHead, &lock, what, ALTERED));
        }
        for ExpectedHead { point, is_noted, found } in &self.heads {
            let count = point.count;
            let (kind, what) = match found {
                Some(hash) if *hash == point.hash => continue,
                Some(_) => {
                    (DamageKind::HeadMismatch, format!("line {count} has another hash: it was replaced"))
                }
                None if *is_noted && self.first.is_some_and(|first| count < first) => {
                    (DamageKind::RemovedHead, format!("retention or somebody removed line {count}"))
                }
                None if *is_noted => (
                    DamageKind::HeadMismatch,
                    format!("line {count} is missing; the log ends with line {last}"),
                ),
                // It is reported where the line is missing.
                None if count <= last => continue,
                // Retention removes all segments before the directory.
                None if self.is_of_session() && (last == 0 || self.is_pruned) => continue,
                None => {
                    let what = format!("the log ends with line {last}, but line {count} was written");
                    (DamageKind::MissingLines, format!("{what}: its end was removed"))
                }
            };
            findings.push(match is_noted {
                true => {
                    let what = format!("{}:{point} was noted, but {what}", self.log.owner);
                    Damage::new(kind, self.log.dir(), what, ALTERED)
                }
                false => Damage::new(kind, &lock, what, ALTERED),
            });
        }
        findings
    }
}

/// The finding about a noted head whose log is missing.
fn without_log(noted: &LogHead, store: &Path) -> Damage {
    let what =
        format!("{noted} was noted, but the log does not exist: `prune`, retention or somebody removed it");
    Damage::new(DamageKind::RemovedHead, store, what, ALTERED)
}

fn misplaced() -> LineProblem {
    (
        DamageKind::MisplacedLine,
        "the line is not in its place in the chain: it was inserted or moved".to_owned(),
    )
}
