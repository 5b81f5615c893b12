//! The stored history of the files and commits of a run's agents: `files.json` in its directory. Only a call that a gate for
//! shared files judges reads it.

use std::io;
use std::path::Path;

use crate::policy::FileHistory;
use crate::sys::fs::{Document, JsonFile};

impl Document for FileHistory {
    const MAX_BYTES: u64 = 2 << 20;
}

#[derive(Debug)]
pub struct HistoryFile(JsonFile<FileHistory>);

impl HistoryFile {
    /// Of the run with this directory.
    pub fn of(dir: &Path) -> HistoryFile {
        HistoryFile(JsonFile::at(dir.join("files.json")))
    }

    /// A file that cannot be read is an empty history: gates that prevent mistakes must not fail for their own records.
    pub fn read(&self) -> FileHistory {
        self.0.read().ok().and_then(|content| content.valid().ok()).flatten().unwrap_or_default()
    }

    /// Replaces the history if it changed. The caller holds the lock of the run's counts.
    pub fn write(&self, before: &FileHistory, now: &FileHistory) -> io::Result<()> {
        if before == now { Ok(()) } else { self.0.exchange(now) }
    }
}
