//! What the gates remember of a run, or of a session without one, in its directory: `gates.json` with the ledger and the counts, and
//! `files.json` with the history of files.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use teamkeep_model::event::SafeName;
use teamkeep_policy::{FileHistory, Guard, Ledger};
use teamkeep_store::archive::{Archive, CaptureScope};
use teamkeep_system::fs::{self, Content, JsonDocument, JsonFile, Lock};

/// The counts in the directory of a run or of a session.
#[derive(Debug, Clone)]
pub struct GateStateStore {
    dir: PathBuf,
    lock_timeout: Duration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateState {
    pub v: u8,
    pub ledger: Ledger,
    pub guard: Guard,
}

impl JsonDocument for GateState {}

/// The counts of a run for one call, and their file, locked unless that failed.
#[derive(Debug)]
pub struct OpenGateState {
    pub gate_state: GateState,
    /// Why former counts are lost, if they are.
    pub damage: Option<String>,
    locked: io::Result<Lock>,
    file: JsonFile<GateState>,
}

impl GateStateStore {
    pub fn new(dir: PathBuf, lock_timeout: Duration) -> GateStateStore {
        GateStateStore { dir, lock_timeout }
    }

    /// The counts with the history of files, for reading only; empty if they cannot be read.
    pub fn read(&self) -> GateState {
        let (mut gate_state, _) = self.file().read().map(state_and_damage).unwrap_or_default();
        gate_state.ledger.files = self.files();
        gate_state
    }

    /// The history of the files and commits of the run's agents: `files.json`. Only a call that a gate for shared files judges
    /// reads it. A file that cannot be read is an empty history: gates that prevent mistakes must not fail for their own records.
    pub(super) fn files(&self) -> FileHistory {
        self.history().known().map(|Stored(history)| history).unwrap_or_default()
    }

    /// Replaces the history if it changed. The caller holds the lock.
    pub(super) fn write_files(&self, before: &FileHistory, now: &FileHistory) -> io::Result<()> {
        if before == now { Ok(()) } else { self.history().exchange(&Stored(now.clone())) }
    }

    fn history(&self) -> JsonFile<Stored> {
        JsonFile::at(self.dir.join("files.json"))
    }

    fn file(&self) -> JsonFile<GateState> {
        JsonFile::at(self.dir.join("gates.json"))
    }

    /// Opens the counts for this call. If they cannot be locked, they are those of the file; if they cannot be read, they are
    /// empty. In both cases, [`OpenGateState::save`] fails.
    pub fn open(&self) -> OpenGateState {
        let file = self.file();
        let locked = self.lock();
        let read = file.read().map(state_and_damage);
        let (locked, (gate_state, damage)) = match read {
            Ok(found) => (locked, found),
            Err(error) => (locked.and(Err(error)), Default::default()),
        };
        OpenGateState { gate_state, damage, locked, file }
    }

    /// Takes the lock. One that is not free in time is a failure of the policy like any other, whoever holds it and why: the
    /// call continues without counting, so it neither waits longer nor repeats a block that nothing counts.
    fn lock(&self) -> io::Result<Lock> {
        let lock = fs::lock(&self.dir.join("gates.lock"), self.lock_timeout)?;
        lock.ok_or_else(|| fs::held_error("the policy's"))
    }
}

impl OpenGateState {
    pub fn is_locked(&self) -> bool {
        self.locked.is_ok()
    }

    /// Writes what this call changed, and a damaged file in any case, and unlocks it. If only the ledger's order grew, nothing
    /// is written: no stored number refers to it.
    pub fn save(self, after: GateState) -> io::Result<()> {
        let (_lock, mut before) = (self.locked?, self.gate_state);
        before.ledger.order = after.ledger.order;
        before.v = after.v;
        if before == after && self.damage.is_none() {
            return Ok(());
        }
        self.file.exchange(&after)
    }
}

/// The run of a session that has subagents and no team.
pub fn run_of_session(archive: &Archive, session: &SafeName) -> Option<SafeName> {
    SafeName::new(&archive.index(&CaptureScope::Session(session.clone()))?.run)
}

/// The counts, and why former ones are lost, if they are.
fn state_and_damage(read: Content<GateState>) -> (GateState, Option<String>) {
    match read {
        Ok(state) => (state.unwrap_or_default(), None),
        Err(damage) => (GateState::default(), Some(format!("{damage}; its counts start again"))),
    }
}

/// The content of `files.json`.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Stored(FileHistory);

impl JsonDocument for Stored {}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_model::time::Timestamp;
    use teamkeep_policy::{Change, Sign};

    #[test]
    fn one_call_at_a_time_can_change_the_counts_and_damaged_ones_start_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = GateStateStore::new(dir.path().to_owned(), Duration::from_millis(5));
        let session = |number: usize| number.to_string();
        let refused = || store.open().locked.unwrap_err().kind();
        let add = |open: OpenGateState, name: String| {
            let mut after = open.gate_state.clone();
            after.ledger.live.apply(Timestamp::default(), Change::sign(&name, Sign::Leaves));
            open.save(after)
        };
        let open = store.open();
        assert_eq!(refused(), io::ErrorKind::TimedOut, "another call has it");
        add(open, session(2)).unwrap();
        assert!(store.open().gate_state.ledger.has_left("2"));
        std::fs::write(dir.path().join("gates.json"), "{half").unwrap();
        let open = store.open();
        assert_eq!(open.gate_state, GateState::default());
        let path = dir.path().join("gates.json");
        assert!(open.damage.as_ref().is_some_and(|damage| damage.contains(&path.display().to_string())));
        let unchanged = open.gate_state.clone();
        open.save(unchanged).unwrap();
        let open = store.open();
        assert!(open.damage.is_none(), "the damage is reported once");
        add(open, session(3)).unwrap();
        assert!(store.open().gate_state.ledger.has_left("3"));
    }
}
