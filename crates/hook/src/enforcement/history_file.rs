//! The stored history of the files and commits of a run's agents: `files.json` in its directory. Only a call that a gate for
//! shared files judges reads it.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use teamkeep_policy::FileHistory;
use teamkeep_system::fs::{Document, JsonFile};

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Stored(FileHistory);

impl Document for Stored {}

pub(crate) struct HistoryFile(JsonFile<Stored>);

impl HistoryFile {
    /// Of the run with this directory.
    pub(super) fn of(dir: &Path) -> HistoryFile {
        HistoryFile(JsonFile::at(dir.join("files.json")))
    }

    /// A file that cannot be read is an empty history: gates that prevent mistakes must not fail for their own records.
    pub(super) fn read(&self) -> FileHistory {
        let stored = self.0.read().ok().and_then(|content| content.valid().ok()).flatten();
        stored.map(|Stored(history)| history).unwrap_or_default()
    }

    /// Replaces the history if it changed. The caller holds the lock of the run's counts.
    pub(super) fn write(&self, before: &FileHistory, now: &FileHistory) -> io::Result<()> {
        if before == now { Ok(()) } else { self.0.exchange(&Stored(now.clone())) }
    }
}
