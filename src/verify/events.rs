//! Checks the logs, the cached indexes of teams, and the state of sessions and gates.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::chain::{ALTERED, ChainCheck, without_log};
use super::check::Check;
use super::{Finding, Kind, Scope, StateDirs, UPGRADE};
use teamkeep_core::model::event::Recorded;
use teamkeep_core::store::archive::Index;
use teamkeep_core::store::log::{self, EventLog, LineError, LogOwner, Segment, SegmentName};
use teamkeep_core::sys::fs::{self, JsonFile};

/// Maximum size of a cache file, in bytes.
const MAX_BYTES: u64 = 1 << 28;

const PERMISSIONS: &str = "check its permissions";
const EVENT: &str = "this event is lost; all other events are intact, and recording continues";
const INDEX: &str = "the next hook call of its team rebuilds this cache from the journal";
const GATES: &str =
    "the counts since its last intact line are lost; the next judged hook call of the run repairs it";
const OVERRIDES: &str =
    "no pause and no allowance applies; the next one that is set replaces the file; or remove it";
const SESSION: &str = "the next hook call of the session rebuilds it; or remove it";

/// Event ids seen so far, as hashes: a log may have millions.
#[derive(Default)]
struct SeenIds {
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl Check<'_> {
    /// Checks the logs in the scope: their lines, and how they are linked.
    pub fn logs(&mut self) {
        let verifier = self.verifier;
        let mut ids = SeenIds::default();
        let logs = match self.single_run() {
            Some(run) => verifier.logs.run(run).into_iter().collect(),
            None => match verifier.logs.all() {
                Ok(logs) => logs,
                // The directory of the runs is reported already.
                Err(_) if verifier.archive.why_unlisted().is_some() => return,
                Err(error) => {
                    let dir = verifier.archive.runs_dir();
                    self.findings.add(Finding::new(Kind::DamagedFile, &dir, error.to_string(), PERMISSIONS));
                    return;
                }
            },
        };
        for log in &logs {
            self.log(log, &mut ids);
        }
        if verifier.scope == Scope::All {
            let owners: HashSet<String> = logs.iter().map(|log| log.owner.to_string()).collect();
            for noted in verifier.against.iter().filter(|noted| !owners.contains(&noted.log)) {
                self.findings.add(without_log(noted, &verifier.archive.runs_dir()));
            }
        }
    }

    fn log(&mut self, log: &EventLog, ids: &mut SeenIds) {
        let run = match &log.owner {
            LogOwner::Run(run) => Some(run.as_str()),
            LogOwner::Session(_) => None,
        };
        let of_run = |finding: Finding| Finding { run: run.map(str::to_owned), ..finding };
        let mut chain = ChainCheck::new(log, self.verifier.against);
        let segments = match log.segments() {
            Ok(segments) => segments,
            Err(error) => {
                let finding = Finding::new(Kind::DamagedFile, log.dir(), error.to_string(), PERMISSIONS);
                self.findings.add(of_run(finding));
                return;
            }
        };
        for segment in &segments {
            let path = segment.path();
            let read = match segment.name {
                SegmentName::Imported => self.events(segment, None, &mut SeenIds::default(), run),
                _ => self.events(segment, Some(&mut chain), ids, run),
            };
            let problem = match read {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    chain.is_pruned = true;
                    continue;
                }
                Err(error) => Some((Kind::DamagedFile, error.to_string(), PERMISSIONS)),
                Ok(()) => chain.end_segment(&segment.name).map(|(kind, what)| (kind, what, ALTERED)),
            };
            let finding = problem.map(|(kind, what, hint)| Finding::new(kind, &path, what, hint));
            if let Some(finding) = finding {
                self.findings.add(of_run(finding));
            }
        }
        self.findings.chain.logs += u64::from(chain.lines > 0);
        self.findings.chain.lines += chain.lines;
        for finding in chain.finish() {
            self.findings.add(of_run(finding));
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
        let finding = |kind, what: String, hint| Finding {
            run: run.map(str::to_owned),
            ..Finding::new(kind, &path, what, hint)
        };
        let mut lines = segment.open()?;
        while let Some(line) = self.next_line(&mut lines, &path)? {
            let number = lines.position.lines;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let parsed = log::parse(Some(line.clone()));
            if matches!(parsed, Err(LineError::CutOff)) {
                self.findings.add(finding(Kind::CutLine, log::CUT_OFF.to_owned(), EVENT).at(number));
                continue;
            }
            let linked = chain.as_mut().and_then(|chain| chain.line(&segment.name, &line));
            self.findings.checked.events += 1;
            let found = match parsed {
                Ok(None) => continue,
                Ok(Some(line)) => flaw(&line.recorded, ids).map(|(kind, what)| finding(kind, what, EVENT)),
                Err(LineError::NewerVersion(newer)) => {
                    Some(finding(Kind::NewerVersion, format!("format version {newer}"), UPGRADE))
                }
                Err(error) => Some(finding(Kind::DamagedLine, error.to_string(), EVENT)),
            };
            let found = found.or_else(|| linked.map(|(kind, what)| finding(kind, what, ALTERED)));
            match found {
                Some(found) => drop(self.findings.add(found.at(number))),
                // States that an altered line names are not compared.
                None if chain.is_some() => self.named_states(&line),
                None => {}
            }
        }
        Ok(())
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
        let Some(StateDirs { sessions, policy }) = self.verifier.state else { return };
        let logs = match self.single_run() {
            Some(run) => self.verifier.logs.run(run).into_iter().collect(),
            None => self.verifier.logs.all().unwrap_or_default(),
        };
        for path in logs.iter().map(|log| log.dir().join("gates.json")) {
            self.state(&path, read_journal(&path), GATES);
        }
        if self.single_run().is_some() {
            return;
        }
        for path in json_files(sessions) {
            self.state(&path, read::<Value>(&path).map(drop), SESSION);
        }
        let overrides = policy.join("overrides.json");
        if overrides.symlink_metadata().is_ok() {
            self.state(&overrides, read::<Value>(&overrides).map(drop), OVERRIDES);
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
