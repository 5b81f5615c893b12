//! Pauses and allowances: `overrides.json`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use teamkeep_config::{Gate, Policy};
use teamkeep_model::time::Timestamp;
use teamkeep_model::unicode::fold;
use teamkeep_system::fs::{self, JsonDocument, JsonFile};
use teamkeep_system::store_lock::StoreLock;

const V: u8 = 1;
pub const LONGEST_PAUSE: chrono::TimeDelta = chrono::TimeDelta::hours(24);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    pub v: u8,
    pub pauses: Vec<Pause>,
    /// Teammates whose next shutdown is allowed, by name.
    pub shutdowns: Vec<String>,
    /// When the allowance of a name ends. One without an end, of an earlier version, does not expire.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shutdowns_until: BTreeMap<String, Timestamp>,
    /// The hash of the rest, if that is in the log: a command wrote it, or a hook call found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<String>,
}

impl JsonDocument for Overrides {
    fn check(&self) -> Result<(), String> {
        if self.v == V { Ok(()) } else { Err(format!("unknown version {}", self.v)) }
    }
}

impl Overrides {
    /// Takes the hash off, and returns whether it is that of the rest.
    fn take_recorded(&mut self) -> bool {
        let recorded = self.recorded.take();
        recorded.is_some() && recorded == self.hash()
    }

    fn hash(&self) -> Option<String> {
        let bytes = serde_json::to_vec(&Overrides { recorded: None, ..self.clone() }).ok()?;
        Some(blake3::hash(&bytes).to_hex().to_string())
    }

    /// Drops expired pauses and allowances.
    pub fn retain_active(&mut self, now: Timestamp) {
        self.pauses.retain(|pause| pause.is_in_force(now));
        let until = &self.shutdowns_until;
        self.shutdowns.retain(|name| until.get(name).is_none_or(|until| is_within(*until, now)));
        self.shutdowns_until.retain(|_, until| is_within(*until, now));
    }

    /// The name whose next shutdown is allowed: the teammate's own, or one that folds to the same and is not another member's.
    pub fn allowed_shutdown(&self, name: &str, members: &[String]) -> Option<&str> {
        let allowed = || self.shutdowns.iter().map(String::as_str);
        allowed().find(|one| *one == name).or_else(|| {
            let folded = fold(name);
            let is_other = |one: &str| members.iter().any(|member| member == one);
            allowed().find(|one| fold(one) == folded && !is_other(one))
        })
    }

    pub fn is_paused(&self, gate: Gate, team: Option<&str>, now: Timestamp) -> bool {
        self.pauses.iter().any(|pause| {
            pause.gate.as_deref().is_none_or(|paused| paused == gate.name())
                && pause.team.as_deref().is_none_or(|paused| Some(paused) == team)
                && pause.is_in_force(now)
        })
    }
}

/// A paused gate. A missing or misspelled key is an error: it must not turn the pause of one gate into a pause of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The gate; null for all.
    #[serde(deserialize_with = "Option::deserialize")]
    pub gate: Option<String>,
    /// The team; null for all.
    #[serde(deserialize_with = "Option::deserialize")]
    pub team: Option<String>,
    /// End of the pause.
    pub until: Timestamp,
}

impl Pause {
    /// A pause without a valid end, or longer than the maximum, is not active: the clock was set back, or no command wrote it.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        is_within(self.until, now)
    }
}

impl Pause {
    /// The payload of the event that records it.
    pub fn payload(&self, policy: &Policy) -> Value {
        let Pause { gate, team, until } = self;
        let payload = json!({"override": "pause", "gate": gate, "team": team, "until": until});
        with_fixed(payload, policy, gate.as_deref())
    }
}

/// The payload of the event that records an allowance.
pub fn allowance_payload(name: &str, until: Option<Timestamp>, policy: &Policy) -> Value {
    let gate = Gate::PrematureShutdown.name();
    let mut payload = json!({"override": "allow-shutdown", "gate": gate, "team": null, "name": name});
    if let Some(until) = until {
        payload["until"] = json!(until);
    }
    with_fixed(payload, policy, Some(gate))
}

/// Adds the gates that the organization has fixed, to which the override does not apply.
fn with_fixed(mut payload: Value, policy: &Policy, gate: Option<&str>) -> Value {
    let fixed = policy.fixed_gates(gate);
    if !fixed.is_empty() {
        payload["fixed"] = json!(fixed);
    }
    payload
}

fn is_within(until: Timestamp, now: Timestamp) -> bool {
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

    fn file(&self) -> JsonFile<Overrides> {
        JsonFile::at(self.store.join("overrides.json"))
    }

    /// A damaged file allows nothing.
    pub fn read(&self) -> Overrides {
        self.try_read().unwrap_or_default()
    }

    /// Those in force.
    pub fn read_active(&self, now: Timestamp) -> Overrides {
        let mut overrides = self.read();
        overrides.retain_active(now);
        overrides
    }

    pub fn try_read(&self) -> io::Result<Overrides> {
        Ok(self.read_recorded()?.map(|(overrides, _)| overrides).unwrap_or_default())
    }

    /// The content, and whether it is in the log; `None` if there is no file.
    fn read_recorded(&self) -> io::Result<Option<(Overrides, bool)>> {
        let Some(mut overrides) = self.file().read()?.valid()? else { return Ok(None) };
        let is_recorded = overrides.take_recorded();
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
        overrides.retain_active(now);
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

    fn write(&self, mut overrides: Overrides, is_recorded: bool) -> io::Result<()> {
        overrides.recorded = if is_recorded { overrides.hash() } else { None };
        self.file().write(&overrides)
    }

    /// Overrides that are in force and not in the log, because no command wrote the file. Each content is found once.
    pub fn found(&self, now: Timestamp) -> Option<FoundOverrides> {
        let (all, is_recorded) = self.read_recorded().ok()??;
        let mut overrides = all.clone();
        overrides.retain_active(now);
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
    use super::*;
    use teamkeep_model::time;

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
    fn a_pause_applies_to_its_gate_and_team_until_its_end() {
        let overrides = |gate, team, until: &str| Overrides {
            pauses: vec![pause(gate, team, until)],
            ..Overrides::default()
        };
        let later = "2026-02-03T05:05:06+00:30";
        let one = overrides(Some("team-size"), Some("t1"), later);
        assert!(one.is_paused(Gate::TeamSize, Some("t1"), now()));
        assert!(!one.is_paused(Gate::Rule, Some("t1"), now()));
        assert!(
            !one.is_paused(Gate::TeamSize, Some("t2"), now()) && !one.is_paused(Gate::TeamSize, None, now())
        );
        assert!(overrides(None, None, later).is_paused(Gate::Rule, None, now()));
        assert!(overrides(None, None, "2026-02-04T04:05:06Z").is_paused(Gate::Rule, None, now()));
        for over in
            ["2026-02-04T04:05:06.001Z", "2026-02-03T04:05:06Z", "2026-02-03T04:00:00Z", "tomorrow", ""]
        {
            assert!(!overrides(None, None, over).is_paused(Gate::Rule, None, now()), "{over}");
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
    fn an_allowance_expires_and_one_without_an_end_does_not() {
        let mut overrides = Overrides {
            shutdowns: vec!["alice".to_owned(), "bob".to_owned()],
            shutdowns_until: BTreeMap::from([("bob".to_owned(), now() + LONGEST_PAUSE)]),
            ..Overrides::default()
        };
        overrides.retain_active(now());
        assert_eq!(overrides.shutdowns, ["alice", "bob"]);
        overrides.retain_active(now() + LONGEST_PAUSE);
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

    #[test]
    fn a_shutdown_is_allowed_by_name_or_by_another_spelling_that_no_other_member_has() {
        let overrides = Overrides { shutdowns: vec!["Bob".to_owned()], ..Overrides::default() };
        let members = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(overrides.allowed_shutdown("bob", &members(&["bob"])), Some("Bob"));
        assert_eq!(overrides.allowed_shutdown("bob", &members(&["bob", "Bob"])), None);
        assert_eq!(overrides.allowed_shutdown("Bob", &members(&["bob", "Bob"])), Some("Bob"));
        assert_eq!(overrides.allowed_shutdown("carol", &[]), None);
    }
}
