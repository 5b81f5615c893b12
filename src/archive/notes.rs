//! What others keep beside a run's record because it is dear to make again. None of it is needed.

use std::io;

use super::state::journals;
use super::store::Archive;
use crate::fs;

/// No note is larger.
const LARGEST: u64 = 1 << 20;

impl Archive {
    /// What was kept under this name beside a run's record.
    pub fn note(&self, run: &str, name: &str) -> Option<Vec<u8>> {
        fs::read_regular(&self.run_dir(run)?.join(name), LARGEST).ok().map(|(bytes, _)| bytes)
    }

    /// Keeps something under this name beside a run's record.
    ///
    /// # Errors
    /// When the disk refuses, or the run's id is none.
    pub fn write_note(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let dir = self.run_dir(run).ok_or(io::ErrorKind::InvalidInput)?;
        fs::write_atomic(&dir.join(name), bytes, false)
    }

    /// How many bytes a run's journals have: they only ever grow.
    pub fn journal_size(&self, run: &str) -> u64 {
        let Some(dir) = self.run_dir(run) else { return 0 };
        let sizes = journals(&dir).into_iter().filter_map(|name| dir.join(name).symlink_metadata().ok());
        sizes.map(|metadata| metadata.len()).sum()
    }
}
