//! A settings file on disk: found by scope, read, and replaced as a whole with its owner and mode.

use crate::layer::{content, resolve_links};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::{self, OpenMode};
use teamkeep_system::os;

/// After this time, temporary files of a killed install can be removed.
const STALE: Duration = Duration::from_secs(600);

/// A settings file as found.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// The path that the user knows.
    pub path: PathBuf,
    /// The file behind all links. It is replaced, so that links stay links.
    pub real: PathBuf,
    /// Its content; `None` if it does not exist.
    pub content: Option<Vec<u8>>,
    /// Whether every user must be able to read it.
    is_public: bool,
}

impl SettingsFile {
    /// Finds and reads it.
    ///
    /// # Errors
    /// It is a broken link, not a regular file, too large, or unreadable.
    pub fn read(path: &Path) -> Result<SettingsFile> {
        SettingsFile::find(path, "nothing was changed; choose another file: --settings PATH")
    }

    /// Finds and reads a file of managed settings. If it is new, every user can read it.
    ///
    /// # Errors
    /// As of [`SettingsFile::read`].
    pub fn read_public(path: &Path) -> Result<SettingsFile> {
        Ok(SettingsFile { is_public: true, ..SettingsFile::find(path, "nothing was changed")? })
    }

    fn find(path: &Path, hint: &str) -> Result<SettingsFile> {
        let real = resolve_links(path)?;
        let content = content(&real).map_err(|error| Error::from(error).hint(hint))?;
        Ok(SettingsFile { path: path.to_path_buf(), real, content, is_public: false })
    }

    /// The content, empty if there is no file.
    pub fn bytes(&self) -> &[u8] {
        self.content.as_deref().unwrap_or_default()
    }

    /// Creates the directory of a new file, for managed settings with those above it. Returns how many were missing.
    ///
    /// # Errors
    /// It cannot be created, or its parent is missing too.
    pub fn make_directory(&self) -> Result<usize> {
        let Some(directory) = self.real.parent() else { return Ok(0) };
        if self.is_public {
            return make_public_directories(directory)
                .map_err(|error| Error::from(error).hint("nothing was changed"));
        }
        match std::fs::create_dir(directory) {
            Ok(()) => Ok(1),
            Err(_) if directory.is_dir() => Ok(0),
            Err(error) => {
                let hint = match error.kind() {
                    ErrorKind::NotFound => {
                        format!("create it first: mkdir -p {}", quoted(&directory.to_string_lossy()))
                    }
                    _ => "nothing was changed; choose another file: --settings PATH".to_owned(),
                };
                Err(Error::from(fs::with_path(error, "create the directory", directory)).hint(hint))
            }
        }
    }

    /// Replaces the content and keeps mode and owner. The replacement is atomic, unless a new file would lose something of the
    /// old one, such as its hard links: then it is overwritten in place, and its backup is in the store.
    ///
    /// # Errors
    /// It changed since it was read, or cannot be written; then it is unchanged.
    pub fn replace(&self, content: &[u8]) -> Result<()> {
        if self.content.is_some() {
            os::access::check_writable(&self.real).map_err(|error| self.failure(error, "write"))?;
        }
        let temporary = fs::temporary_path(&self.real);
        let replaced = match self.write(&temporary, content) {
            Ok(true) => self.check_unchanged().and_then(|()| {
                os::files::rename(&temporary, &self.real).map_err(|error| self.failure(error, "replace"))
            }),
            Ok(false) => self.overwrite(content),
            // A shorter content needs no space.
            Err(error) if is_full(&error) && content.len() <= self.bytes().len() => self.overwrite(content),
            Err(error) => Err(self.failure(error, "write beside")),
        };
        // After a rename it no longer exists.
        let _ = std::fs::remove_file(&temporary);
        replaced?;
        // The new content is in place. Syncing the directory is best effort.
        let _ = self.real.parent().map(fs::sync);
        Ok(())
    }

    /// Removes temporary files of killed installs.
    pub fn sweep(&self) {
        fs::remove_old_drafts_of(&self.real, STALE);
    }

    /// Removes it.
    ///
    /// # Errors
    /// It changed since it was read, or cannot be removed.
    pub fn remove(&self) -> Result<()> {
        self.check_unchanged()?;
        std::fs::remove_file(&self.real).map_err(|error| self.failure(error, "remove"))
    }

    /// Writes a new file. Returns whether it has everything that the old one has, so that it may replace it.
    fn write(&self, temporary: &Path, content: &[u8]) -> io::Result<bool> {
        let mut is_complete = true;
        let mut file = if self.content.is_some() {
            // Private until the old file's permissions are known.
            let file = os::files::open(temporary, OpenMode::Create)?;
            is_complete = os::access::copy_access(fs::open_regular(&self.real)?.file(), &file)?;
            file
        } else {
            OpenOptions::new().write(true).create_new(true).open(temporary)?
        };
        if self.content.is_none() && self.is_public {
            os::access::make_public(&file)?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        Ok(is_complete)
    }

    /// Overwrites the file in place. The old content is restored on failure.
    fn overwrite(&self, content: &[u8]) -> Result<()> {
        self.check_unchanged()?;
        let opened = os::files::open(&self.real, OpenMode::Overwrite);
        let write = |mut file: &File, content: &[u8]| {
            file.rewind()?;
            file.write_all(content)?;
            file.set_len(content.len() as u64)?;
            file.sync_all()
        };
        let written = opened.and_then(|file| {
            write(&file, content).inspect_err(|_| {
                let _ = write(&file, self.bytes());
            })
        });
        written.map_err(|error| self.failure(error, "write"))
    }

    fn check_unchanged(&self) -> Result<()> {
        if content(&self.real)? == self.content {
            return Ok(());
        }
        Err(Error::new(format!("cannot replace {}: another process changed it", self.path.display()))
            .hint("nothing was changed; run the command again"))
    }

    /// The error for a failed operation.
    fn failure(&self, error: io::Error, operation: &str) -> Error {
        Error::from(fs::with_path(error, operation, &self.real)).hint("nothing was changed")
    }
}

/// Creates a directory and those above it, which every user can use. Returns how many were missing.
///
/// # Errors
/// One of them cannot be created.
pub fn make_public_directories(directory: &Path) -> io::Result<usize> {
    let missing: Vec<PathBuf> =
        directory.ancestors().take_while(|path| !path.is_dir()).map(Path::to_path_buf).collect();
    for path in missing.iter().rev() {
        let created = std::fs::create_dir(path).and_then(|()| os::access::make_public_dir(path));
        created.map_err(|error| fs::with_path(error, "create the directory", path))?;
    }
    Ok(missing.len())
}

/// Whether the disk is full.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn replace_preserves_hard_links() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("settings.json"), dir.path().join("dotfiles.json"));
        std::fs::write(&one, "{\"a\": 1}").unwrap();
        std::fs::hard_link(&one, &other).unwrap();
        for content in ["{\"a\": 1, \"b\": 2}", "{}"] {
            SettingsFile::read(&one).unwrap().replace(content.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&other).unwrap(), content);
        }
        assert_eq!(one.metadata().unwrap().ino(), other.metadata().unwrap().ino());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file stays");
    }

    #[test]
    fn replace_does_not_overwrite_a_concurrent_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let absent = SettingsFile::read(&path).unwrap();
        std::fs::write(&path, "{\"theirs\": 1}").unwrap();
        let error = absent.replace(b"{}").unwrap_err();
        assert!(error.to_string().contains("another process changed it"), "{error}");
        let read = SettingsFile::read(&path).unwrap();
        std::fs::write(&path, "{\"theirs\": 2}").unwrap();
        assert!(read.replace(b"{}").is_err());
        assert!(read.remove().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"{\"theirs\": 2}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file stays");
    }
}
