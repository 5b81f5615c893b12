//! Notes beside a run's description: caches that are expensive to rebuild but not needed.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use super::file_tree::journals;
use super::pack::plain_size;
use super::store::Archive;
use crate::fs;

/// Maximum size of a note, in bytes.
const MAX_BYTES: u64 = 1 << 20;

impl Archive {
    /// The content of a note.
    pub fn note(&self, run: &str, name: &str) -> Option<Vec<u8>> {
        fs::read_regular(&self.run_dir(run)?.join(name), MAX_BYTES).ok().map(|(bytes, _)| bytes)
    }

    /// Writes a note. Does not create the directory of a run that was removed.
    ///
    /// # Errors
    /// When an I/O operation fails, or the run does not exist.
    pub fn write_note(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let dir = self.run_dir(run).ok_or(io::ErrorKind::InvalidInput)?;
        dir.join("run.json").symlink_metadata()?;
        let path = dir.join(name);
        // Do not create the parent: the run's directory may be pruned at any moment.
        let temporary = fs::temporary_path(&path);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(fs::PRIVATE_FILE).open(&temporary)?;
        let written = file.write_all(bytes).and_then(|()| std::fs::rename(&temporary, &path));
        written.inspect_err(|_| {
            let _ = std::fs::remove_file(&temporary);
        })
    }

    /// The uncompressed size of a run's journals, in bytes. Journals only grow.
    pub fn journal_size(&self, run: &str) -> u64 {
        let Some(dir) = self.run_dir(run) else { return 0 };
        journals(&dir).into_iter().filter_map(|name| plain_size(&dir.join(name))).sum()
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
