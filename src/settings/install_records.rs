//! Writes install records, saves the contents of settings files, and locks out other installs. Hook calls only read records.

use std::path::{Path, PathBuf};
use std::time::Duration;

use teamkeep_core::client::settings::install_record::{Record, Records, hash};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::sys::fs;

/// How long to wait for another install.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The install records of all settings files, and the saved contents of these files.
#[derive(Debug)]
pub struct InstallRecords {
    records: Records,
}

impl InstallRecords {
    /// The records in a directory that need not exist.
    pub fn at(dir: PathBuf) -> InstallRecords {
        InstallRecords { records: Records::at(dir) }
    }

    /// Locks out other installs.
    ///
    /// # Errors
    /// Another install does not end, or locking fails.
    pub fn lock(&self) -> Result<fs::Lock> {
        let locked = self.try_lock().map_err(|error| {
            Error::from(error)
                .hint("nothing was changed; free space there, make it writable, or set TEAMKEEP_HOME")
        });
        locked?.ok_or_else(|| self.busy())
    }

    /// Like [`InstallRecords::lock`]; `None` if another install does not end.
    pub fn try_lock(&self) -> std::io::Result<Option<fs::Lock>> {
        fs::lock(&self.records.lock_path(), LOCK_TIMEOUT)
    }

    /// The error if another install does not end.
    pub fn busy(&self) -> Error {
        let path = self.records.lock_path();
        Error::new(format!("cannot lock {}: another install is running", path.display()))
            .hint("nothing was changed; wait, then run the command again")
    }

    /// The install record of a settings file. An unreadable record counts as none: the hooks can be removed without it.
    pub fn find(&self, real: &Path) -> Option<Record> {
        self.records.find(real)
    }

    /// Whether this directory was created for another settings file in it that still exists.
    pub fn created_directory(&self, directory: &Path) -> bool {
        self.records.all().any(|record| {
            let file = Path::new(&record.settings);
            let parent = || file.parent().and_then(|parent| parent.canonicalize().ok());
            record.made_directory && file.is_file() && parent().as_deref() == Some(directory)
        })
    }

    /// Writes the install record of a settings file.
    pub fn write(&self, real: &Path, record: &Record) -> Result<()> {
        self.records.file(real).write_synced(record)?;
        Ok(())
    }

    /// Deletes the install record of a settings file. The saved contents stay.
    pub fn remove(&self, real: &Path) -> Result<()> {
        Ok(self.records.file(real).remove()?)
    }

    /// Saves a content of a settings file; returns its hash and path.
    pub fn save_content(&self, real: &Path, content: &[u8]) -> Result<(String, PathBuf)> {
        let hash = hash(content);
        let path = self.records.backup(real, &hash);
        fs::write_synced(&path, content)?;
        Ok((hash, path))
    }

    /// A saved content, if it still exists and is intact.
    pub fn saved_content(&self, real: &Path, wanted: &str) -> Option<Vec<u8>> {
        let (bytes, _) = fs::read_regular(&self.records.backup(real, wanted), u64::from(u32::MAX)).ok()?;
        (hash(&bytes) == wanted).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_content_is_returned_only_if_intact() {
        let dir = tempfile::tempdir().unwrap();
        let records = InstallRecords::at(dir.path().join("installs"));
        let real = Path::new("/home/somebody/.claude/settings.json");
        let (hash, path) = records.save_content(real, b"{}").unwrap();
        assert_eq!(records.saved_content(real, &hash).unwrap(), b"{}");
        std::fs::write(path, "{ }").unwrap();
        assert_eq!(records.saved_content(real, &hash), None);
        assert_eq!(records.saved_content(real, "../../etc/passwd"), None);
    }

    #[test]
    fn record_of_another_format_counts_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let records = InstallRecords::at(dir.path().to_path_buf());
        let real = Path::new("/settings.json");
        assert_eq!(records.find(real), None);
        let mut record = Record::new("2026-02-03T04:05:06.789Z".to_owned(), real, b"{}");
        records.write(real, &record).unwrap();
        assert_eq!(records.find(real), Some(record.clone()));
        record.v = 2;
        records.write(real, &record).unwrap();
        assert_eq!(records.find(real), None);
        records.remove(real).unwrap();
        records.remove(real).unwrap();
    }
}
