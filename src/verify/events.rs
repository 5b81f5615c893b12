//! Checks the log, the events that are stored with a run (imported or copied), the cached indexes of teams, and the state
//! of sessions and gates.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::chain::{ALTERED, Heads, PartCheck};
use super::check::Check;
use super::{Finding, Kind, Scope, UPGRADE};
use teamkeep_core::error::Result;
use teamkeep_core::model::event::Recorded;
use teamkeep_core::store::archive::Index;
use teamkeep_core::store::chain::ChainHash;
use teamkeep_core::store::log::{
    self, LineError, LogChange, Mark, Range, Sealed, SegmentName, changes_path, part_name,
};
use teamkeep_core::sys::fs::{self, JsonFile};

/// Maximum size of a cache file, in bytes.
const MAX_BYTES: u64 = 1 << 28;

const EVENT: &str = "this event is lost; all other events are intact, and recording continues";
const INDEX: &str = "the next hook call of its team rebuilds this cache from the journal";
const GATES: &str =
    "the counts since its last intact line are lost; the next judged hook call of the run repairs it";
const OVERRIDES: &str =
    "no pause and no allowance applies; the next one that is set replaces the file; or remove it";
const SESSION: &str = "the next hook call of the session rebuilds it; or remove it";

/// Where a file of events comes from.
#[derive(Clone, Copy)]
enum Source<'a> {
    Segment(&'a SegmentName),
    /// A run's copy of its events in a segment.
    Part(&'a str),
    /// The events of an imported run, which are in no chain of this store.
    Imported(&'a str),
}

impl<'a> Source<'a> {
    fn run(self) -> Option<&'a str> {
        match self {
            Source::Segment(_) => None,
            Source::Part(run) | Source::Imported(run) => Some(run),
        }
    }
}

/// Event ids seen so far, as hashes: a log may have millions.
#[derive(Default)]
struct SeenIds {
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl Check<'_> {
    /// Checks all segments and how their lines are linked, or the segments of the run's time.
    pub fn log(&mut self) -> Result<()> {
        let verifier = self.verifier;
        let record = self.single_run().and_then(|run| verifier.archive.run(run));
        let range = record.map_or(Range::default(), |record| Range {
            since: Some(record.started_at),
            until: record.ended_at,
        });
        let before = log::stored_head(verifier.log);
        let noted = verifier.against;
        self.chain.look_for(before.map(|head| head.point()).into_iter().chain(noted.iter().copied()));
        let mut ids = SeenIds::default();
        for segment in log::list(verifier.log)?.iter().filter(|segment| range.overlaps(&segment.name)) {
            self.events(&segment.path(verifier.log), Source::Segment(&segment.name), &mut ids);
        }
        let changes = changes_path(verifier.log);
        self.chain.open_file(&changes);
        let problem = self.each_line(&changes, |check, number, line| {
            if let Some(((kind, what), hint)) = check.chain.change((number, &line)) {
                check.findings.add(Finding::new(kind, &changes, what, hint).at(number));
            }
        });
        if let Some(why) = problem {
            self.findings.add(Finding::new(Kind::DamagedFile, &changes, why, "check its permissions"));
        }
        self.parts();
        if verifier.scope == Scope::All {
            let heads = Heads { before, after: log::stored_head(verifier.log) };
            for finding in self.chain.finish(verifier.log, heads, noted) {
                self.findings.add(finding);
            }
            self.findings.chain = self.chain.stats.clone();
            self.findings.chain.head = before;
        }
        Ok(())
    }

    /// Reads which runs were pruned: the events of their earlier journals are not compared.
    pub fn changes(&mut self) {
        let mut changes = Vec::new();
        // Its problems are reported with the log.
        let _ = self.each_line(&changes_path(self.verifier.log), |_, _, line| {
            let number = match Sealed::read(&line).filter(Sealed::is_intact).map(|sealed| sealed.mark) {
                Some(Mark::Chained(link)) => Some(link.number),
                _ => None,
            };
            changes.extend(LogChange::parse(&line).ok().map(|change| (number, change)));
        });
        self.chain.prepare(&changes);
    }

    /// Compares the copies of removed segments with the hashes that were recorded before.
    fn parts(&mut self) {
        let (archive, log, single) = (self.verifier.archive, self.verifier.log, self.single_run());
        let recorded = std::mem::take(&mut self.chain.parts);
        for ((segment, run), hash) in recorded {
            let is_current = log.join(&segment).exists() || self.chain.pruned_runs.contains_key(&run);
            let Some(dir) =
                archive.run_dir(&run).filter(|_| !is_current && single.is_none_or(|name| name == run))
            else {
                continue;
            };
            let Some(name) = SegmentName::parse(&segment) else { continue };
            let path = dir.join(part_name(&name));
            let what = match self.copies.get(&(segment, run.clone())) {
                Some(there) if *there == hash => continue,
                Some(_) => "it does not have the lines that were copied into it",
                None if !dir.exists() => {
                    self.missing_run(&run, &dir);
                    continue;
                }
                None => "the copy of a removed segment is missing",
            };
            self.findings.add(Finding::new(Kind::AlteredPart, &path, what, ALTERED).of_run(&run));
        }
    }

    /// Checks the events of an imported run.
    pub fn imported_events(&mut self, path: &Path, run: &str) {
        self.events(path, Source::Imported(run), &mut SeenIds::default());
    }

    /// Checks a run's copy of its events in one segment.
    pub fn part(&mut self, segment: &SegmentName, path: &Path, run: &str) {
        let hash = self.events(path, Source::Part(run), &mut SeenIds::default());
        self.copies.insert((segment.to_string(), run.to_owned()), hash);
    }

    /// Returns the hash of all lines.
    fn events(&mut self, path: &Path, source: Source<'_>, ids: &mut SeenIds) -> ChainHash {
        let finding = |kind, what: String, hint| Finding {
            run: source.run().map(str::to_owned),
            ..Finding::new(kind, path, what, hint)
        };
        let mut part = PartCheck::default();
        if let Source::Segment(_) = source {
            self.chain.open_file(path);
        }
        let problem = self.each_line(path, |check, number, line| {
            if line.trim_ascii().is_empty() {
                return;
            }
            let parsed = log::parse(Some(line.clone()));
            let at = parsed.as_ref().ok().and_then(|line| Some(line.as_ref()?.recorded.at));
            let linked = match source {
                Source::Segment(segment) => check.chain.line(segment, (number, &line), at),
                Source::Part(_) => part.line(&line),
                Source::Imported(_) => None,
            };
            let found = match parsed {
                Ok(None) => return,
                Ok(Some(line)) => flaw(&line.recorded, ids).map(|(kind, what)| finding(kind, what, EVENT)),
                Err(LineError::NewerVersion(newer)) => {
                    Some(finding(Kind::NewerVersion, format!("format version {newer}"), UPGRADE))
                }
                Err(LineError::CutOff) => {
                    check.findings.add(finding(Kind::CutLine, log::CUT_OFF.to_owned(), EVENT).at(number));
                    return;
                }
                Err(error) => Some(finding(Kind::DamagedLine, error.to_string(), EVENT)),
            };
            check.findings.checked.events += 1;
            let found = found.or_else(|| linked.map(|(kind, what)| finding(kind, what, ALTERED)));
            match (found, source) {
                (Some(found), _) => drop(check.findings.add(found.at(number))),
                // States that an altered line names are not compared.
                (None, Source::Segment(_) | Source::Part(_)) => check.named_states(&line, source.run()),
                (None, Source::Imported(_)) => {}
            }
        });
        if let Some(why) = problem {
            self.findings.add(finding(Kind::DamagedFile, why, "check its permissions"));
        }
        part.hash
    }

    /// Checks the indexes; for a single run, only its own.
    pub fn indexes(&mut self) {
        let (archive, single) = (self.verifier.archive, self.single_run());
        // Checking a thousand runs one by one must not read each index a thousand times.
        let files = match single.and_then(|run| archive.run(run)?.subject()) {
            Some(subject) => archive.index_files_of(&subject),
            None => archive.index_files(),
        };
        for (path, subject) in files {
            let index = read::<Index>(&path);
            let run = index.as_ref().ok().map(|index| index.run.clone());
            if single.is_some_and(|single| run.as_deref() != Some(single)) {
                continue;
            }
            let (kind, what, hint) = match (index, subject) {
                (_, None) => (Kind::DamagedFile, "teamkeep does not use this name".to_owned(), INDEX),
                (Err(why), _) => (Kind::DamagedFile, why, INDEX),
                (Ok(index), _) if index.v > Index::VERSION => {
                    self.findings.add(Finding::new(
                        Kind::NewerVersion,
                        &path,
                        format!("format version {}", index.v),
                        UPGRADE,
                    ));
                    continue;
                }
                (Ok(index), _) if archive.run_dir(&index.run).is_some_and(|dir| dir.exists()) => continue,
                (Ok(index), _) => {
                    let what = format!("it names the run {:?}, which does not exist", index.run);
                    (Kind::DamagedFile, what, INDEX)
                }
            };
            self.findings.add(Finding { run, ..Finding::new(kind, &path, what, hint) });
        }
    }

    /// Checks the state of sessions and gates; for a single run, only its own.
    pub fn states(&mut self) {
        let verifier = self.verifier;
        if let Some(run) = self.single_run() {
            let path = verifier.policy.join(format!("{run}.json"));
            return self.state(&path, read_journal(&path), GATES);
        }
        for path in json_files(verifier.sessions) {
            self.state(&path, read::<Value>(&path).map(drop), SESSION);
        }
        for path in json_files(verifier.policy) {
            match path.ends_with("overrides.json") {
                true => self.state(&path, read::<Value>(&path).map(drop), OVERRIDES),
                false => self.state(&path, read_journal(&path), GATES),
            }
        }
    }

    fn state(&mut self, path: &Path, read: std::result::Result<(), String>, hint: &str) {
        if let Err(why) = read {
            self.findings.add(Finding::new(Kind::DamagedFile, path, why, hint));
        }
    }
}

/// A problem in an event that was read without errors.
fn flaw(recorded: &Recorded, ids: &mut SeenIds) -> Option<(Kind, String)> {
    if let Some(what) = recorded.flaw() {
        return Some((Kind::DamagedLine, what));
    }
    let is_new = ids.seen.insert(ids.hasher.hash_one(&recorded.id));
    (!is_new).then(|| (Kind::RepeatedId, format!("another line has the id {}", recorded.id)))
}

/// The JSON files of a directory, without temporary ones.
fn json_files(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let is_json = |name: &str| name.ends_with(".json") && !name.starts_with('.');
    let files = fs::entries(dir).filter(move |entry| entry.file_name().to_str().is_some_and(is_json));
    files.map(|entry| entry.path())
}

fn read<T: DeserializeOwned>(path: &Path) -> std::result::Result<T, String> {
    retry(|| {
        let (bytes, _) = fs::read_regular(path, MAX_BYTES).map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    })
}

/// Reads the state of the gates.
fn read_journal(path: &Path) -> std::result::Result<(), String> {
    retry(|| {
        let last = JsonFile::<Value>::at(path).read_last().map_err(|error| error.to_string())?;
        last.damage.map_or(Ok(()), |damage| Err(damage.why))
    })
}

/// Reads a file that a hook call may be writing right now.
fn retry<T>(read: impl Fn() -> std::result::Result<T, String>) -> std::result::Result<T, String> {
    for pause in [5, 50] {
        if let Ok(found) = read() {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(pause));
    }
    read()
}
