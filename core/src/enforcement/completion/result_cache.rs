//! Stored results of checks: `cache/check-<key>.json`, with one lock for each check.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use blake3::{Hash, Hasher};
use serde::{Deserialize, Serialize};

use super::CheckOutcome;
use super::worktree::{self, field};
use crate::sys::fs::{self, Lock};
use crate::sys::store_lock::StoreLock;

/// How long a pass is reused. A failure is never reused: its cause may have been fixed where git cannot see it.
const PASS_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// Of the names of the files.
const PREFIX: &str = "check-";
const MAX_ENTRIES: usize = 200;
const MAX_BYTES: u64 = 256 * 1024;

#[derive(Debug)]
pub struct ResultCache {
    store: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct CachedResult {
    v: u8,
    command: String,
    exit: i32,
    last_lines: Vec<String>,
    /// Duration of the run in milliseconds, counted back from when this was written.
    took_ms: u64,
}

fn digest(command: &str, place: &[u8]) -> Hash {
    let mut hasher = Hasher::new();
    field(&mut hasher, command.as_bytes());
    field(&mut hasher, place);
    hasher.finalize()
}

impl ResultCache {
    pub fn new(store: &Path) -> ResultCache {
        ResultCache { store: store.to_owned() }
    }

    fn dir(&self) -> PathBuf {
        self.store.join("cache")
    }

    /// A hash of the command and the state of the worktree.
    pub fn key(command: &str, cwd: &Path) -> Option<Hash> {
        Some(digest(command, worktree::key(cwd)?.as_bytes()))
    }

    /// A pass expires, because its cause may be outside the worktree. A failure is valid only for a caller that started
    /// waiting, `waited` ago, before that run started.
    pub fn find(&self, key: Hash, waited: Duration) -> Option<CheckOutcome> {
        let (bytes, metadata) = fs::read_regular(&self.path(key), MAX_BYTES).ok()?;
        let cached: CachedResult = serde_json::from_slice(&bytes).ok()?;
        let age = metadata.modified().ok()?.elapsed().ok()?;
        if cached.v != 1 {
            return None;
        }
        if cached.exit == 0 {
            return (age < PASS_LIFETIME).then_some(CheckOutcome::Passed);
        }
        let began = age.saturating_add(Duration::from_millis(cached.took_ms));
        (began < waited).then_some(CheckOutcome::Failed { exit: cached.exit, last_lines: cached.last_lines })
    }

    /// Stores the result of a run that started `took` ago, and removes the oldest results.
    pub fn store(&self, key: Hash, command: &str, outcome: &CheckOutcome, took: Duration) -> io::Result<()> {
        let (exit, last_lines) = match outcome {
            CheckOutcome::Passed => (0, Vec::new()),
            CheckOutcome::Failed { exit, last_lines } => (*exit, last_lines.clone()),
            _ => return Ok(()),
        };
        // Rounded up, so that a run that started at the same moment does not count as later.
        let took_ms = took.as_millis() as u64 + 1;
        let cached = CachedResult { v: 1, command: command.to_owned(), exit, last_lines, took_ms };
        fs::write_atomic(&self.path(key), &serde_json::to_vec(&cached)?)?;
        self.prune();
        Ok(())
    }

    /// Prevents the same check from running twice at once in one directory. Two of the 4096 locks are rarely the same.
    pub fn lock(&self, command: &str, cwd: &Path, patience: Duration) -> io::Result<Option<Lock>> {
        let name = &digest(command, cwd.as_os_str().as_encoded_bytes()).to_hex()[..3];
        StoreLock::Check(name).take(&self.store, patience)
    }

    fn path(&self, key: Hash) -> PathBuf {
        self.dir().join(format!("{PREFIX}{}.json", &key.to_hex()[..32]))
    }

    fn prune(&self) {
        let results = fs::entries(&self.dir()).map(|entry| (entry.metadata(), entry.path()));
        // The directory may be the user's.
        let is_result = |name: &OsStr| {
            let key = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(".json"));
            key.is_some_and(|key| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let results = results.filter(|(_, path)| path.file_name().is_some_and(is_result));
        let mut found: Vec<(Option<SystemTime>, PathBuf)> =
            results.map(|(metadata, path)| (metadata.and_then(|it| it.modified()).ok(), path)).collect();
        found.sort();
        for (_, path) in found.iter().rev().skip(MAX_ENTRIES) {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_results_are_kept_and_a_damaged_one_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let results = ResultCache::new(dir.path());
        let key = |number: usize| blake3::hash(&number.to_le_bytes());
        for number in 0..MAX_ENTRIES + 5 {
            results.store(key(number), "true", &CheckOutcome::Passed, Duration::ZERO).unwrap();
            let file = std::fs::File::options().append(true).open(results.path(key(number))).unwrap();
            let made = file.metadata().unwrap().modified().unwrap();
            file.set_modified(made - Duration::from_secs(1_000 - number as u64)).unwrap();
        }
        // The last result was the newest when it was stored.
        assert_eq!(std::fs::read_dir(dir.path().join("cache")).unwrap().count(), MAX_ENTRIES);
        let find = |number| results.find(key(number), Duration::ZERO);
        assert_eq!((find(4), find(5)), (None, Some(CheckOutcome::Passed)));
        std::fs::write(results.path(key(5)), "{\"v\":1,").unwrap();
        assert_eq!(find(5), None);
    }

    #[test]
    fn an_old_pass_is_run_again() {
        let dir = tempfile::tempdir().unwrap();
        let results = ResultCache::new(dir.path());
        let key = blake3::hash(b"key");
        results.store(key, "true", &CheckOutcome::Passed, Duration::ZERO).unwrap();
        assert_eq!(results.find(key, Duration::ZERO), Some(CheckOutcome::Passed));
        let file = std::fs::File::options().append(true).open(results.path(key)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(results.find(key, Duration::ZERO), None);
    }

    #[test]
    fn a_failure_is_valid_for_a_caller_that_waited_since_before_its_run() {
        let dir = tempfile::tempdir().unwrap();
        let results = ResultCache::new(dir.path());
        let key = blake3::hash(b"key");
        let failed = CheckOutcome::Failed { exit: 1, last_lines: vec!["no".to_owned()] };
        results.store(key, "false", &failed, Duration::from_secs(1_000)).unwrap();
        assert_eq!(results.find(key, Duration::from_secs(1_000)), None);
        assert_eq!(results.find(key, Duration::from_secs(9_000)), Some(failed));
    }
}
