//! The stored ledger and counts of a run: `policy/<run>.json`.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::SafeName;
use crate::fs::{self, Document, JsonJournal, LastVersion, Lock};
use crate::policy::{Guard, Ledger};

/// Whose lock it is, for messages.
pub(super) const LOCK_OWNER: &str = "the policy's";

/// A lock that was last taken longer ago is stuck, not busy.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// How old the time of a lock may be before it is set again: one system call less for most of many calls in a row.
const TOUCH_INTERVAL: Duration = Duration::from_secs(10);

/// The directory of the stored counts. Creating this value does not access the disk.
#[derive(Debug, Clone)]
pub struct GateStateStore {
    dir: PathBuf,
    patience: Duration,
}

/// The ledger and counts of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateState {
    /// Format version: 1.
    pub v: u8,
    /// The history of the team.
    pub ledger: Ledger,
    /// The counts of blocks and warnings.
    pub guard: Guard,
    /// Sessions whose own counts, from before they joined this run, were added.
    pub sessions: BTreeSet<String>,
}

impl Document for GateState {
    const MAX_BYTES: u64 = 8 << 20;
}

/// The locked counts of a run.
#[derive(Debug)]
pub struct LockedGateState {
    /// The content.
    pub gate_state: GateState,
    last: LastVersion<GateState>,
    journal: JsonJournal<GateState>,
    _lock: Lock,
}

impl GateStateStore {
    /// The counts in this directory, with a time limit for the lock.
    pub fn new(dir: PathBuf, patience: Duration) -> GateStateStore {
        GateStateStore { dir, patience }
    }

    /// The counts of a run, for reading only; empty if they cannot be read.
    pub fn read(&self, run: &SafeName) -> GateState {
        self.read_reporting(run).0
    }

    /// Like [`GateStateStore::read`], and why the counts are lost, if they are.
    pub fn read_reporting(&self, run: &SafeName) -> (GateState, Option<String>) {
        let read = check(&self.dir).and_then(|()| JsonJournal::<GateState>::at(path(&self.dir, run)).read());
        read.map(|last| (lost(&last), last.document))
            .map(|(lost, found)| (found.unwrap_or_default(), lost))
            .unwrap_or_default()
    }

    /// Opens a run's counts, for this call only: they stay right under concurrent hooks. Damaged counts are empty.
    ///
    /// # Errors
    /// `WouldBlock` when other hook calls hold the lock for too long: the block of this call stays a block, although it is
    /// not counted. This cannot end in a live-lock: each call that takes the lock sets the modification time of the lock
    /// file (unless it was set within [`TOUCH_INTERVAL`]) and holds the lock only while it judges, so this error needs new
    /// calls all the time. When they end, the next attempt is counted. A lock that one process keeps for longer than
    /// [`STUCK_AFTER`] is not busy but a failure like the others: reading or writing fails, or the directory or the file
    /// is something else.
    pub fn open(&self, run: &SafeName) -> io::Result<LockedGateState> {
        check(&self.dir)?;
        let place = self.dir.join(format!(".{run}.lock"));
        let Some(lock) = fs::lock(&place, self.patience)? else {
            let kind = if is_busy(&place) { io::ErrorKind::WouldBlock } else { io::ErrorKind::TimedOut };
            return Err(fs::held_error(kind, LOCK_OWNER));
        };
        // If this fails, the lock merely does not count as busy.
        let _ = lock.touch(TOUCH_INTERVAL);
        let journal = JsonJournal::<GateState>::at(path(&self.dir, run));
        let last = journal.read()?;
        let gate_state = last.document.clone().unwrap_or_default();
        Ok(LockedGateState { gate_state, last, journal, _lock: lock })
    }
}

/// The path of a run's counts. The file of the overrides is in the same directory; a session of that name must not
/// replace it, also on case-insensitive file systems.
pub fn path(dir: &Path, run: &SafeName) -> PathBuf {
    match run.as_str().eq_ignore_ascii_case("overrides") {
        true => dir.join(format!(".{run}.json")),
        false => dir.join(format!("{run}.json")),
    }
}

impl LockedGateState {
    /// Takes the content out, to be changed, and why the former content is lost, if it is.
    pub fn take(&mut self) -> (GateState, Option<String>) {
        (std::mem::take(&mut self.gate_state), lost(&self.last))
    }

    /// Writes the changes, and a damaged file in any case. A further step of the ledger that changed nothing else is not
    /// written: no stored number refers to it, so the next step may have its number.
    ///
    /// # Errors
    /// Writing fails.
    pub fn close(mut self) -> io::Result<()> {
        let mut before = self.last.document.take().unwrap_or_default();
        before.ledger.order = self.gate_state.ledger.order;
        before.v = self.gate_state.v;
        if before == self.gate_state && self.last.damage.is_none() {
            return Ok(());
        }
        self.gate_state.v = 1;
        self.journal.append(&self.gate_state, &self.last)
    }
}

/// The report of counts that are lost, if any are.
fn lost(last: &LastVersion<GateState>) -> Option<String> {
    let effect = if last.document.is_some() {
        "the counts before its last change apply"
    } else {
        "its counts start again"
    };
    last.damage.as_ref().map(|damage| format!("{damage}; {effect}"))
}

/// Checks that the policy directory is a directory or does not exist yet. A link is rejected: the counts and
/// pauses behind it are not this store's.
///
/// # Errors
/// Something else is in its place.
pub fn check(dir: &Path) -> io::Result<()> {
    match dir.symlink_metadata() {
        Ok(metadata) if !metadata.is_dir() => {
            let what = if metadata.is_symlink() { "a symlink" } else { "not a directory" };
            Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is {what}", dir.display())))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether another call took this lock within the last [`STUCK_AFTER`].
fn is_busy(lock: &Path) -> bool {
    let Ok(taken) = lock.symlink_metadata().and_then(|metadata| metadata.modified()) else { return false };
    // The time may be in the future, if the clock was set back.
    let age = taken.elapsed().unwrap_or_else(|error| error.duration());
    age < STUCK_AFTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_is_one_call_s_at_a_time_and_a_damaged_one_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let store = GateStateStore::new(dir.path().to_owned(), Duration::from_millis(5));
        let run = SafeName::new("r1").unwrap();
        let mut open = store.open(&run).unwrap();
        let refused = || store.open(&run).unwrap_err().kind();
        assert_eq!(refused(), io::ErrorKind::WouldBlock, "another call has it");
        open._lock.file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(refused(), io::ErrorKind::TimedOut, "and does not give it back");
        open.gate_state.guard.blocks.insert("gate".to_owned(), 2);
        open.close().unwrap();
        assert_eq!(store.open(&run).unwrap().gate_state.guard.blocks["gate"], 2);
        let mut open = store.open(&run).unwrap();
        open.gate_state.guard.blocks.insert("x".repeat(GateState::MAX_BYTES as usize), 1);
        assert!(open.close().is_err(), "what nobody could read again is not written");
        assert_eq!(store.open(&run).unwrap().gate_state.guard.blocks["gate"], 2);
        std::fs::write(dir.path().join("r1.json"), "{half").unwrap();
        let open = store.open(&run).unwrap();
        assert_eq!(open.gate_state, GateState::default());
        let path = path(dir.path(), &run);
        assert!(open.last.damage.as_ref().is_some_and(|damage| damage.path == path));
        open.close().unwrap();
        let mut open = store.open(&run).unwrap();
        assert!(open.last.damage.is_none(), "the damage is reported once");
        open.gate_state.guard.blocks.insert("gate".to_owned(), 3);
        open.close().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend(b"{\"v\":1,\"led");
        std::fs::write(&path, bytes).unwrap();
        let open = store.open(&run).unwrap();
        assert!(open.last.damage.is_some());
        assert_eq!(open.gate_state.guard.blocks["gate"], 3, "the version before a torn one applies");
    }

    #[test]
    fn a_pipe_a_device_or_too_much_in_a_notebook_s_place_is_an_error_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let store = GateStateStore::new(dir.path().to_owned(), Duration::from_secs(5));
        let path = |run: &SafeName| dir.path().join(format!("{run}.json"));
        let [pipe, link, large] = ["pipe", "link", "large"].map(|run| SafeName::new(run).unwrap());
        rustix::fs::mkfifoat(rustix::fs::CWD, path(&pipe), rustix::fs::Mode::RWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path(&link)).unwrap();
        std::fs::File::create(path(&large)).unwrap().set_len(GateState::MAX_BYTES + 1).unwrap();
        for run in [pipe, link, large] {
            assert!(store.open(&run).is_err(), "{run}");
            assert_eq!(store.read(&run), GateState::default(), "{run}");
        }
    }
    #[test]
    fn no_session_s_name_writes_over_what_a_human_let_through() {
        let dir = tempfile::tempdir().unwrap();
        let said = dir.path().join("overrides.json");
        std::fs::write(&said, "{}").unwrap();
        let store = GateStateStore::new(dir.path().to_owned(), Duration::from_secs(5));
        for run in ["overrides", "Overrides"] {
            let run = SafeName::new(run).unwrap();
            let mut open = store.open(&run).unwrap();
            open.gate_state.guard.completed.insert("7".to_owned());
            open.close().unwrap();
            assert_eq!(store.read(&run).guard.completed.len(), 1);
            assert_ne!(path(dir.path(), &run).file_name().unwrap().to_ascii_lowercase(), "overrides.json");
        }
        assert_eq!(std::fs::read(&said).unwrap(), b"{}");
    }
}
