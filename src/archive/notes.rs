//! What others keep beside a run's record because it is dear to make again. None of it is needed.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

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

    /// Keeps something under this name beside a run's record. A run that is gone by now is not made again.
    ///
    /// # Errors
    /// When the disk refuses, or there is no such run.
    pub fn write_note(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let dir = self.run_dir(run).ok_or(io::ErrorKind::InvalidInput)?;
        dir.join("run.json").symlink_metadata()?;
        let path = dir.join(name);
        // No parent is made: the run may be pruned at any moment, and its directory with it.
        let temporary = fs::beside(&path);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(fs::PRIVATE_FILE).open(&temporary)?;
        let written = file.write_all(bytes).and_then(|()| std::fs::rename(&temporary, &path));
        written.inspect_err(|_| {
            let _ = std::fs::remove_file(&temporary);
        })
    }

    /// How many bytes a run's journals have: they only ever grow.
    pub fn journal_size(&self, run: &str) -> u64 {
        let Some(dir) = self.run_dir(run) else { return 0 };
        let sizes = journals(&dir).into_iter().filter_map(|name| dir.join(name).symlink_metadata().ok());
        sizes.map(|metadata| metadata.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_note_makes_no_run_that_is_gone_again() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1, Duration::ZERO);
        let run = archive.run_dir("0123456789abcdef").unwrap();
        let note = || archive.write_note("0123456789abcdef", "summary.json", b"{}");
        assert!(note().is_err() && !dir.path().join("runs").exists());
        std::fs::create_dir_all(&run).unwrap();
        assert!(note().is_err(), "an empty directory is no run");
        assert_eq!(std::fs::read_dir(&run).unwrap().count(), 0);
        std::fs::write(run.join("run.json"), "{}").unwrap();
        note().unwrap();
        note().unwrap();
        assert_eq!(archive.note("0123456789abcdef", "summary.json").unwrap(), b"{}");
        assert_eq!(run.join("summary.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&run).unwrap().count(), 2, "no temporary file stays");
    }
}
