//! The file of pauses and allowances: `overrides.json`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use teamkeep_model::time::Timestamp;
use teamkeep_policy::Overrides;
use teamkeep_system::fs::{self, JsonDocument, JsonFile};
use teamkeep_system::store_lock::StoreLock;

const V: u8 = 1;
pub const LONGEST_PAUSE: chrono::TimeDelta = chrono::TimeDelta::hours(24);

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredOverrides {
    #[serde(flatten)]
    overrides: Overrides,
    /// The hash of the rest, if that is in the log: a command wrote it, or a hook call found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded: Option<String>,
}

impl JsonDocument for StoredOverrides {
    fn check(&self) -> Result<(), String> {
        let v = self.overrides.v;
        if v == V { Ok(()) } else { Err(format!("unknown version {v}")) }
    }
}

fn hash(overrides: &Overrides) -> Option<String> {
    let bytes = serde_json::to_vec(overrides).ok()?;
    Some(blake3::hash(&bytes).to_hex().to_string())
}

/// Drops expired pauses and allowances.
fn retain_active(overrides: &mut Overrides, now: Timestamp) {
    let Overrides { pauses, shutdowns, shutdowns_until: until, .. } = overrides;
    pauses.retain(|pause| is_in_force(pause.until, now));
    shutdowns.retain(|name| until.get(name).is_none_or(|until| is_in_force(*until, now)));
    until.retain(|_, until| is_in_force(*until, now));
}

/// An override without a valid end, or longer than the maximum, is not active: the clock was set back, or no command wrote it.
fn is_in_force(until: Timestamp, now: Timestamp) -> bool {
    now < until && until - now <= LONGEST_PAUSE
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundOverrides {
    pub overrides: Overrides,
    /// All that the file has, expired ones included.
    all: Overrides,
}

#[derive(Debug, Clone)]
pub struct OverrideFile {
    store: PathBuf,
    lock_timeout: Duration,
}

impl OverrideFile {
    pub fn new(store: &Path, lock_timeout: Duration) -> OverrideFile {
        OverrideFile { store: store.to_owned(), lock_timeout }
    }

    fn file(&self) -> JsonFile<StoredOverrides> {
        JsonFile::at(self.store.join("overrides.json"))
    }

    /// A damaged file allows nothing.
    fn read(&self) -> Overrides {
        self.try_read().unwrap_or_default()
    }

    /// Those in force.
    pub fn read_active(&self, now: Timestamp) -> Overrides {
        let mut overrides = self.read();
        retain_active(&mut overrides, now);
        overrides
    }

    pub fn try_read(&self) -> io::Result<Overrides> {
        Ok(self.read_recorded()?.map(|(overrides, _)| overrides).unwrap_or_default())
    }

    /// The content, and whether it is in the log; `None` if there is no file.
    fn read_recorded(&self) -> io::Result<Option<(Overrides, bool)>> {
        let Some(stored) = self.file().read()?? else { return Ok(None) };
        let StoredOverrides { overrides, recorded } = stored;
        let is_recorded = recorded.is_some() && recorded == hash(&overrides);
        Ok(Some((overrides, is_recorded)))
    }

    /// Changes the file under a lock and drops expired pauses and allowances. A damaged file is replaced.
    pub fn change<T>(&self, now: Timestamp, change: impl FnOnce(&mut Overrides) -> T) -> io::Result<T> {
        let _lock = self.lock()?;
        let (before, was_recorded) = match self.read_recorded() {
            Ok(Some((before, was_recorded))) => (Some(before), was_recorded),
            Ok(None) => (Some(Overrides::default()), true),
            Err(_) => (None, false),
        };
        let mut overrides = before.clone().unwrap_or_default();
        retain_active(&mut overrides, now);
        let result = change(&mut overrides);
        if before.as_ref() != Some(&overrides) {
            overrides.v = V;
            self.write(overrides, was_recorded)?;
        }
        Ok(result)
    }

    fn lock(&self) -> io::Result<fs::Lock> {
        let lock = StoreLock::Overrides.take(&self.store, self.lock_timeout)?;
        lock.ok_or_else(|| fs::held_error("the overrides'"))
    }

    fn write(&self, overrides: Overrides, is_recorded: bool) -> io::Result<()> {
        let recorded = if is_recorded { hash(&overrides) } else { None };
        self.file().write(&StoredOverrides { overrides, recorded })
    }

    /// Overrides that are in force and not in the log, because no command wrote the file. Each content is found once.
    pub fn found(&self, now: Timestamp) -> Option<FoundOverrides> {
        let (all, is_recorded) = self.read_recorded().ok()??;
        let mut overrides = all.clone();
        retain_active(&mut overrides, now);
        let is_empty = overrides.pauses.is_empty() && overrides.shutdowns.is_empty();
        (!is_empty && !is_recorded).then_some(FoundOverrides { overrides, all })
    }

    /// Notes that the found overrides are in the log, unless the file has changed since.
    pub(crate) fn note_recorded(&self, found: &FoundOverrides) -> io::Result<()> {
        let _lock = self.lock()?;
        let is_same = self.try_read()? == found.all;
        if is_same { self.write(found.all.clone(), true) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use teamkeep_model::time;
    use teamkeep_policy::Pause;

    fn file() -> (tempfile::TempDir, OverrideFile) {
        let dir = tempfile::tempdir().unwrap();
        let file = OverrideFile::new(dir.path(), Duration::from_secs(60));
        (dir, file)
    }

    fn now() -> Timestamp {
        time::parse("2026-02-03T04:05:06Z").unwrap()
    }

    fn pause(gate: Option<&str>, team: Option<&str>, until: &str) -> Pause {
        Pause {
            gate: gate.map(str::to_owned),
            team: team.map(str::to_owned),
            until: time::parse(until).unwrap_or_default(),
        }
    }

    #[test]
    fn expired_pauses_are_dropped_when_the_file_is_written() {
        let (_dir, file) = file();
        let (over, holds) =
            (pause(None, None, "2026-02-03T04:05:06Z"), pause(None, None, "2026-02-03T04:05:07Z"));
        let early = now() - chrono::TimeDelta::hours(1);
        file.change(early, |overrides| overrides.pauses = vec![over, holds.clone()]).unwrap();
        assert_eq!(file.read().pauses.len(), 2);
        file.change(now(), |overrides| overrides.shutdowns.push("bob".to_owned())).unwrap();
        assert_eq!(
            file.read(),
            Overrides {
                v: 1,
                pauses: vec![holds],
                shutdowns: vec!["bob".to_owned()],
                ..Overrides::default()
            }
        );
    }

    #[test]
    fn a_pause_is_in_force_until_its_end_and_never_longer_than_a_day() {
        let is_in_force = |until: &str| is_in_force(time::parse(until).unwrap_or_default(), now());
        assert!(is_in_force("2026-02-03T05:05:06+00:30") && is_in_force("2026-02-04T04:05:06Z"));
        for over in
            ["2026-02-04T04:05:06.001Z", "2026-02-03T04:05:06Z", "2026-02-03T04:00:00Z", "tomorrow", ""]
        {
            assert!(!is_in_force(over), "{over}");
        }
    }

    #[test]
    fn an_allowance_expires_and_one_without_an_end_does_not() {
        let mut overrides = Overrides {
            shutdowns: vec!["alice".to_owned(), "bob".to_owned()],
            shutdowns_until: BTreeMap::from([("bob".to_owned(), now() + LONGEST_PAUSE)]),
            ..Overrides::default()
        };
        retain_active(&mut overrides, now());
        assert_eq!(overrides.shutdowns, ["alice", "bob"]);
        retain_active(&mut overrides, now() + LONGEST_PAUSE);
        assert_eq!((overrides.shutdowns, overrides.shutdowns_until.len()), (vec!["alice".to_owned()], 0));
    }

    #[test]
    fn a_damaged_file_allows_nothing_and_the_next_change_replaces_it() {
        let (dir, file) = file();
        let path = dir.path().join("overrides.json");
        for damaged in [
            "{",
            "",
            "[]",
            "\u{0}",
            r#"{"v":1,"pauses":[{"until":"2030-01-01T00:00:00Z"}]}"#,
            r#"{"v":1,"pauses":[{"gate":null,"team":null,"until":"2030-01-01T00:00:00Z","x":1}]}"#,
            r#"{"v":1,"pauses":[{"gat":"rule","team":null,"until":"2030-01-01T00:00:00Z"}]}"#,
            r#"{"v":2,"pauses":[{"gate":null,"team":null,"until":"2030-01-01T00:00:00Z"}]}"#,
            r#"{"v":1,"pauses":[],"shutdowns":["bob",7]}"#,
        ] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(file.read(), Overrides::default(), "{damaged}");
            assert_eq!(file.try_read().unwrap_err().kind(), io::ErrorKind::InvalidData, "{damaged}");
        }
        file.change(now(), |_| ()).unwrap();
        assert_eq!(file.try_read().unwrap(), Overrides { v: 1, ..Overrides::default() });
    }

    #[test]
    fn an_unchanged_file_is_not_written() {
        let (dir, file) = file();
        file.change(now(), |_| ()).unwrap();
        assert!(!dir.path().join("overrides.json").exists());
    }
}
