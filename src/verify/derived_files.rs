//! Checks the cached indexes of teams, and the state of sessions and gates.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::finding::{Finding, Kind};
use super::verifier::{Verifier, Way};
use crate::archive::Index;
use crate::fs;

/// Maximum size of a cache file, in bytes.
const MAX_BYTES: u64 = 1 << 28;

const INDEX: &str = "the next hook call of its team rebuilds this cache from the journal";
const GATES: &str =
    "the counts of this run are lost; its next judged hook call starts them again; or remove it";
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
            states(verifier.sessions, SESSION, way);
            states(verifier.policy, GATES, way);
        }
        Some(run) => {
            let path = verifier.policy.join(format!("{run}.json"));
            if path.symlink_metadata().is_ok() {
                state(&path, GATES, way);
            }
        }
    }
}

/// Checks the files of a directory, except locks and temporary files.
fn states(dir: &Path, hint: &str, way: &mut Way) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.ends_with(".json") && !name.starts_with('.')) {
            let hint = if entry.file_name() == "overrides.json" { OVERRIDES } else { hint };
            state(&entry.path(), hint, way);
        }
    }
}

fn state(path: &Path, hint: &str, way: &mut Way) {
    if let Err(why) = read::<Value>(path) {
        way.findings.add(Finding::new(Kind::DamagedFile, path, why, hint));
    }
}

/// Reads a file that a hook call may be overwriting right now.
fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let mut why = String::new();
    for pause in [0, 5, 50] {
        std::thread::sleep(Duration::from_millis(pause));
        match fs::read_regular(path, MAX_BYTES) {
            Err(error) => why = error.to_string(),
            Ok((bytes, _)) => match serde_json::from_slice(&bytes) {
                Ok(value) => return Ok(value),
                Err(error) => why = error.to_string(),
            },
        }
    }
    Err(why)
}
