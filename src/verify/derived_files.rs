//! Checks the cached indexes of teams, and the state of sessions and gates.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::finding::{Finding, Kind};
use super::verifier::{Verifier, Way};
use crate::archive::Index;
use crate::fs::{self, JsonJournal};

/// Maximum size of a cache file, in bytes.
const MAX_BYTES: u64 = 1 << 28;

const INDEX: &str = "the next hook call of its team rebuilds this cache from the journal";
const GATES: &str =
    "the counts since its last intact line are lost; the next judged hook call of the run repairs it";
const OVERRIDES: &str =
    "no pause and no allowance applies; the next one that is set replaces the file; or remove it";
const SESSION: &str = "the next hook call of the session rebuilds it; or remove it";

/// Checks the caches; for a single run, only its own.
pub(super) fn check(verifier: &Verifier<'_>, way: &mut Way) {
    // For a single run, read only its cache: checking a thousand runs one by one must not read each cache a thousand
    // times.
    let own = verifier.restrict_to().and_then(|run| verifier.archive.run(run)?.subject());
    let files = match own {
        Some(subject) => verifier.archive.index_files_of(&subject),
        None => verifier.archive.index_files(),
    };
    for (path, subject) in files {
        let index = read::<Index>(&path);
        let of = index.as_ref().ok().map(|index| index.run.clone());
        if verifier.restrict_to().is_some_and(|run| of.as_deref() != Some(run)) {
            continue;
        }
        let what = match (index, subject) {
            (_, None) => Some("teamkeep does not use this name".to_owned()),
            (Err(why), _) => Some(why),
            (Ok(index), Some(_)) if index.v > 1 => {
                let what = format!("format version {}", index.v);
                let hint = "written by a newer teamkeep; upgrade to read it";
                way.findings.add(Finding::new(Kind::NewerVersion, &path, what, hint));
                None
            }
            (Ok(index), Some(_)) => {
                let there = verifier.archive.run_dir(&index.run).is_some_and(|dir| dir.exists());
                (!there).then(|| format!("it names the run {:?}, which does not exist", index.run))
            }
        };
        if let Some(what) = what {
            let finding = Finding::new(Kind::DamagedFile, &path, what, INDEX);
            way.findings.add(Finding { run: of, ..finding });
        }
    }
    match verifier.restrict_to() {
        None => {
            for path in json_files(verifier.sessions) {
                report(&path, read::<Value>(&path), SESSION, way);
            }
            for path in json_files(verifier.policy) {
                match path.file_name().is_some_and(|name| name == "overrides.json") {
                    true => report(&path, read::<Value>(&path), OVERRIDES, way),
                    false => report(&path, read_journal(&path), GATES, way),
                }
            }
        }
        Some(run) => {
            let path = verifier.policy.join(format!("{run}.json"));
            report(&path, read_journal(&path), GATES, way);
        }
    }
}

/// The JSON files of a directory, without temporary ones.
fn json_files(dir: &Path) -> Vec<PathBuf> {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let own = names
        .filter(|name| name.to_str().is_some_and(|name| name.ends_with(".json") && !name.starts_with('.')));
    own.map(|name| dir.join(name)).collect()
}

fn report<T>(path: &Path, read: Result<T, String>, hint: &str, way: &mut Way) {
    if let Err(why) = read {
        way.findings.add(Finding::new(Kind::DamagedFile, path, why, hint));
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    retry(|| {
        let (bytes, _) = fs::read_regular(path, MAX_BYTES).map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    })
}

/// Reads the state of the gates.
fn read_journal(path: &Path) -> Result<(), String> {
    retry(|| {
        let last = JsonJournal::<Value>::at(path).read().map_err(|error| error.to_string())?;
        last.damage.map_or(Ok(()), |damage| Err(damage.flaw.to_string()))
    })
}

/// Reads a file that a hook call may be writing right now.
fn retry<T>(read: impl Fn() -> Result<T, String>) -> Result<T, String> {
    for pause in [5, 50] {
        if let Ok(found) = read() {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(pause));
    }
    read()
}
