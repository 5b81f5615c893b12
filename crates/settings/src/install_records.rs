//! Install records: the previous content of the settings, and the installed one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::{self, JsonDocument, JsonFile};

/// Format version.
const V: u32 = 1;

/// One settings file with teamkeep's hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub v: u32,
    /// When it was installed.
    pub at: String,
    /// The settings file.
    pub settings: String,
    /// The hash of the installed content.
    pub after: String,
    /// The hash of the content without teamkeep's hooks, which is kept here; `None` if there was no file.
    pub original: Option<String>,
    /// Whether the file's directory was created.
    pub made_directory: bool,
    /// Whether the directory's own parent was created, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_parent: bool,
    /// The program that the hooks run.
    pub command: String,
    /// The version of Claude Code, if it was known.
    pub client: Option<String>,
    /// The hash of the skill that was installed beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    #[serde(default, skip_serializing_if = "AddedVariables::is_empty")]
    pub variables: AddedVariables,
}

/// The variables that `install --enable-teams` added under `env`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedVariables {
    pub names: Vec<String>,
    /// Whether `env` was added with them.
    pub with_env: bool,
}

impl AddedVariables {
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl JsonDocument for Record {
    fn check(&self) -> std::result::Result<(), String> {
        if self.v == V { Ok(()) } else { Err(format!("unknown version {}", self.v)) }
    }
}

impl Record {
    pub fn new(at: String, settings: &Path, after: &[u8]) -> Record {
        Record {
            v: V,
            at,
            settings: settings.display().to_string(),
            after: hash(after),
            original: None,
            made_directory: false,
            made_parent: false,
            command: String::new(),
            client: None,
            skill: None,
            variables: AddedVariables::default(),
        }
    }

    /// Whether this content is the installed one.
    pub fn has_installed(&self, content: &[u8]) -> bool {
        self.after == hash(content)
    }
}

/// How long to wait for another install.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The install records of all settings files, and the saved contents of these files.
#[derive(Debug)]
pub struct InstallRecords {
    dir: PathBuf,
}

impl InstallRecords {
    /// The records in a directory that need not exist.
    pub fn at(dir: PathBuf) -> InstallRecords {
        InstallRecords { dir }
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
        fs::lock(&self.dir.join("lock"), LOCK_TIMEOUT)
    }

    /// The error if another install does not end.
    pub fn busy(&self) -> Error {
        let path = self.dir.join("lock");
        Error::new(format!("cannot lock {}: another install is running", path.display()))
            .hint("nothing was changed; wait, then run the command again")
    }

    /// The install record of a settings file. An unreadable record counts as none: the hooks can be removed without it.
    pub fn find(&self, real: &Path) -> Option<Record> {
        read(&self.file(real))
    }

    fn all(&self) -> impl Iterator<Item = Record> {
        let all = fs::entries(&self.dir).map(|entry| entry.path());
        all.filter(|path| path.extension().is_some_and(|kind| kind == "json"))
            .filter_map(|path| read(&JsonFile::at(path)))
    }

    /// The file with the install record of a settings file.
    fn file(&self, real: &Path) -> JsonFile<Record> {
        JsonFile::at(self.dir.join(format!("{}.json", key(real))))
    }

    /// The file with a saved content of a settings file, by the content's hash.
    fn backup(&self, real: &Path, content: &str) -> PathBuf {
        self.dir.join(format!("{}-{}.bak", key(real), short(content)))
    }

    /// Whether this directory was created for another settings file in it that still exists.
    pub fn created_directory(&self, directory: &Path) -> bool {
        self.all().any(|record| {
            let file = Path::new(&record.settings);
            let parent = || file.parent().and_then(|parent| fs::canonicalize(parent).ok());
            record.made_directory && file.is_file() && parent().as_deref() == Some(directory)
        })
    }

    /// Writes the install record of a settings file.
    pub fn write(&self, real: &Path, record: &Record) -> Result<()> {
        self.file(real).write_synced(record)?;
        Ok(())
    }

    /// Deletes the install record of a settings file. The saved contents stay.
    pub fn remove(&self, real: &Path) -> Result<()> {
        Ok(self.file(real).remove()?)
    }

    /// Saves a content of a settings file; returns its hash and path.
    pub fn save_content(&self, real: &Path, content: &[u8]) -> Result<(String, PathBuf)> {
        let hash = hash(content);
        let path = self.backup(real, &hash);
        fs::write_synced(&path, content)?;
        Ok((hash, path))
    }

    /// A saved content, if it still exists and is intact.
    pub fn saved_content(&self, real: &Path, wanted: &str) -> Option<Vec<u8>> {
        let (bytes, _) = fs::read_regular(&self.backup(real, wanted), u64::from(u32::MAX)).ok()?;
        (hash(&bytes) == wanted).then_some(bytes)
    }
}

fn read(file: &JsonFile<Record>) -> Option<Record> {
    file.known()
}

/// The hash of a content of a settings file.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn key(real: &Path) -> String {
    short(&hash(real.as_os_str().as_encoded_bytes()))
}

/// A short hash for a file name. A value from a record is never used as a path.
fn short(hash: &str) -> String {
    hash.chars().filter(char::is_ascii_hexdigit).take(16).collect()
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
