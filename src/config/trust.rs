//! Trusted project files: the hash of each file that a person has approved.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Cause, Error, Result};
use crate::fs::{self, Document, Flaw, JsonFile, Layout};

/// How long to wait for another process that changes the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// `trust.json` in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Format version: 1.
    v: u32,
    /// A project's file → the BLAKE3 hash of the trusted content.
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
}

impl Default for Trust {
    fn default() -> Trust {
        Trust { v: 1, files: BTreeMap::new() }
    }
}

impl Document for Trust {
    const MAX_BYTES: u64 = 4 << 20;
    const LAYOUT: Layout = Layout::Pretty;

    fn check(&self) -> std::result::Result<(), Flaw> {
        match self.v {
            1 => Ok(()),
            v => Err(Flaw::Value(format!("unknown version {v}; this teamkeep reads version 1"))),
        }
    }
}

impl Trust {
    /// Reads it; a missing file trusts nothing.
    ///
    /// # Errors
    /// It cannot be read, is not valid, or others may write it.
    pub fn load(path: &Path) -> Result<Trust> {
        let cannot = |cause: Cause| Error::caused(format!("cannot use {}", path.display()), cause);
        let file = JsonFile::<Trust>::at(path);
        let read = file.read_bytes().map_err(|error| cannot(error.into()))?;
        let Some((bytes, metadata)) = read else { return Ok(Trust::default()) };
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o022 != 0 || metadata.uid() != rustix::process::geteuid().as_raw() {
            let owner = metadata.uid();
            return Err(cannot(format!("others can write to it (mode {mode:o}, owner {owner})").into()));
        }
        file.parse(&bytes).map_err(|damage| cannot(damage.flaw.into()))
    }

    /// The trusted hash of a project's file.
    pub fn of(&self, file: &Path) -> Option<&str> {
        self.files.get(file).map(String::as_str)
    }

    /// All trusted files.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().map(|(file, hash)| (file.as_path(), hash.as_str()))
    }

    /// Changes the file under a lock and returns the result of `change`.
    ///
    /// # Errors
    /// It cannot be read or written, or another process holds the lock.
    pub fn change<T>(path: &Path, change: impl FnOnce(&mut Files) -> T) -> Result<T> {
        let Some(_lock) = fs::lock(&path.with_extension("lock"), LOCK_TIMEOUT)? else {
            return Err(Error::new(format!("another process is changing {}", path.display())));
        };
        let mut trust = Trust::load(path)?;
        let result = change(&mut trust.files);
        JsonFile::at(path).write_synced(&trust)?;
        Ok(result)
    }
}

/// A project's file → the trusted hash.
pub type Files = BTreeMap<PathBuf, String>;

/// The name of a project's file in the list: the project's directory with links resolved, and the file in it.
pub fn name_of(file: &Path) -> PathBuf {
    let Some(project) = file.parent().and_then(Path::parent) else { return file.to_path_buf() };
    let project = if project.as_os_str().is_empty() { Path::new(".") } else { project };
    project.canonicalize().map_or_else(|_| file.to_path_buf(), |project| project.join(super::PROJECT_FILE))
}
