//! A settings file on the disk: found behind its links, read whole, replaced whole.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::error::{Error, Result};
use crate::fs;
use crate::settings::command::quoted;

/// A settings file of more than this is none.
const MOST: u64 = 16 * 1024 * 1024;

/// A settings file as it was found.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// The path by which the user knows it.
    pub path: PathBuf,
    /// The file behind all links: the one that is replaced, so that a link stays one.
    pub real: PathBuf,
    /// What is in it; nothing when there is no such file.
    pub content: Option<Vec<u8>>,
}

impl SettingsFile {
    /// Finds and reads it.
    ///
    /// # Errors
    /// When it is a link to nowhere, no regular file, too large, or unreadable.
    pub fn read(path: &Path) -> Result<SettingsFile> {
        let real = behind_links(path)?;
        let content = content(&real).map_err(|error| {
            Error::from(error).hint("nothing was changed; name another file: --settings PATH")
        })?;
        Ok(SettingsFile { path: path.to_path_buf(), real, content })
    }

    /// The content, nothing being the same as no file.
    pub fn bytes(&self) -> &[u8] {
        self.content.as_deref().unwrap_or_default()
    }

    /// Makes the directory of a file that is to come; true when it was missing.
    ///
    /// # Errors
    /// When it cannot be made, or the directory above is missing too.
    pub fn make_directory(&self) -> Result<bool> {
        let Some(directory) = self.real.parent() else { return Ok(false) };
        match std::fs::create_dir(directory) {
            Ok(()) => Ok(true),
            Err(_) if directory.is_dir() => Ok(false),
            Err(error) => {
                let hint = match error.kind() {
                    ErrorKind::NotFound => {
                        format!("make it first: mkdir -p {}", quoted(&directory.to_string_lossy()))
                    }
                    _ => "nothing was changed; name another file: --settings PATH".to_owned(),
                };
                Err(Error::from(fs::named(error, "make the directory", directory)).hint(hint))
            }
        }
    }

    /// Puts new content in place at once, with the mode and the owner of the old.
    ///
    /// # Errors
    /// When it was changed since it was read, or cannot be written; then it is as it was.
    pub fn replace(&self, content: &[u8]) -> Result<()> {
        if self.content.is_some() {
            rustix::fs::access(&self.real, Access::WRITE_OK).map_err(|error| {
                Error::from(fs::named(error.into(), "write", &self.real)).hint("nothing was changed")
            })?;
        }
        let temporary = fs::beside(&self.real);
        let written = self
            .write(&temporary, content)
            .map_err(|error| {
                Error::from(fs::named(error, "write beside", &self.real)).hint("nothing was changed")
            })
            .and_then(|()| self.unchanged())
            .and_then(|()| {
                std::fs::rename(&temporary, &self.real)
                    .map_err(|error| Error::from(fs::named(error, "replace", &self.real)))
            });
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written?;
        // The new content is in place; that its name is on disk too is a courtesy.
        let _ = self.real.parent().map(fs::sync_dir);
        Ok(())
    }

    /// Removes it.
    ///
    /// # Errors
    /// When it was changed since it was read, or cannot be removed.
    pub fn remove(&self) -> Result<()> {
        self.unchanged()?;
        std::fs::remove_file(&self.real).map_err(|error| Error::from(fs::named(error, "remove", &self.real)))
    }

    fn write(&self, temporary: &Path, content: &[u8]) -> io::Result<()> {
        let mut file: File = OpenOptions::new().write(true).create_new(true).open(temporary)?;
        if self.content.is_some() {
            let old = std::fs::metadata(&self.real)?;
            // Only a privileged user can give a file away; for all others it stays theirs, as it was.
            let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
            file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
        }
        file.write_all(content)?;
        file.sync_all()
    }

    fn unchanged(&self) -> Result<()> {
        if content(&self.real)? == self.content {
            return Ok(());
        }
        Err(Error::new(format!("cannot replace {}: it was changed meanwhile", self.path.display()))
            .hint("nothing was changed; run the command again"))
    }
}

fn content(real: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read_regular(real, MOST) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file that a path stands for. The links of its directory are followed as well, so that a file has
/// one name here whichever way it is called.
fn behind_links(path: &Path) -> Result<PathBuf> {
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        return path.canonicalize().map_err(|error| {
            let what = format!("cannot follow the link {}", path.display());
            Error::caused(what, error).hint("nothing was changed; mend the link or remove it")
        });
    }
    let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
    Ok(match (directory, path.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => path.to_path_buf(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_stays_a_link_and_the_mode_stays_the_mode() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        std::fs::write(&real, "{}").unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        symlink("real.json", &link).unwrap();
        let file = SettingsFile::read(&link).unwrap();
        assert_eq!(file.bytes(), b"{}");
        file.replace(b"{ }").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(&real).unwrap(), b"{ }");
        assert_eq!(real.metadata().unwrap().mode() & 0o7777, 0o640);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file stays");
    }

    #[test]
    fn a_change_of_somebody_else_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let absent = SettingsFile::read(&path).unwrap();
        std::fs::write(&path, "{\"theirs\": 1}").unwrap();
        let error = absent.replace(b"{}").unwrap_err();
        assert!(error.to_string().contains("it was changed meanwhile"), "{error}");
        let read = SettingsFile::read(&path).unwrap();
        std::fs::write(&path, "{\"theirs\": 2}").unwrap();
        assert!(read.replace(b"{}").is_err());
        assert!(read.remove().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"{\"theirs\": 2}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn a_directory_and_a_link_to_nowhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link.json");
        symlink("nowhere.json", &link).unwrap();
        let error = SettingsFile::read(&link).unwrap_err();
        assert!(error.to_string().starts_with("cannot follow the link "), "{error}");
        let error = SettingsFile::read(dir.path()).unwrap_err();
        assert!(error.to_string().ends_with(" is no regular file"), "{error}");
    }
}
