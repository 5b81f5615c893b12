//! A directory in which a restore writes: never over another file, and never through a link that exists before.
//!
//! The names in it come from checked lists and numbers: no caller passes one with a separator.

use std::fs::Metadata;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use teamkeep_system::fs::{self, Draft, read_regular};
use teamkeep_system::os;

#[derive(Debug)]
pub struct Directory {
    pub path: PathBuf,
}

impl Directory {
    /// Checks a directory that the user named or Claude Code has; links before the last part are followed.
    pub fn at(path: &Path) -> io::Result<Directory> {
        let why = match path.symlink_metadata() {
            Ok(found) if found.is_dir() => return Ok(Directory { path: path.to_path_buf() }),
            Ok(found) if found.is_symlink() => "it is a symlink, which is not followed",
            Ok(_) => "it is not a directory",
            Err(error) => return Err(fs::with_path(error, "open", path)),
        };
        Err(io::Error::new(ErrorKind::InvalidInput, format!("cannot open {}: {why}", path.display())))
    }

    /// A subdirectory, checked; `None` if it does not exist.
    pub fn subdirectory(&self, name: &str) -> io::Result<Option<Directory>> {
        fs::if_exists(Directory::at(&self.path.join(name)))
    }

    /// A subdirectory, created as private if it is missing. Returns whether it was created.
    pub fn subdirectory_or_new(&self, name: &str) -> io::Result<(Directory, bool)> {
        let is_created = match self.create_dir(name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            created => created.map(|()| true)?,
        };
        Ok((Directory::at(&self.path.join(name))?, is_created))
    }

    pub fn names(&self) -> io::Result<Vec<String>> {
        let listed = fs::names(&self.path)?.into_iter();
        let mut names: Vec<String> = listed.map(|named| named.name.to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    /// The metadata for a name, without following links; `None` if it does not exist.
    pub fn metadata(&self, name: &str) -> io::Result<Option<Metadata>> {
        let path = self.path.join(name);
        fs::if_exists(path.symlink_metadata()).map_err(|error| fs::with_path(error, "inspect", &path))
    }

    /// Reads a regular file of at most `max_bytes`; `None` if it does not exist.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let read = fs::if_exists(read_regular(&self.path.join(name), max_bytes))?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    /// Creates a file, never over another. It appears complete; on a file system without hard links, it is seen while it is
    /// written, because only a new name cannot be over another file there. It is not synced: the restore record has the content,
    /// and Claude Code waits at most three seconds for a lock (seen 2.1.177, 2.1.328).
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; otherwise writing fails, and nothing is left.
    pub fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        // Its name starts with a dot, and Claude Code ignores such files.
        let mut draft = Draft::create_in_existing(&path)?;
        draft.write_all(bytes).map_err(|error| fs::with_path(error, "write", &path))?;
        if std::fs::hard_link(draft.path(), &path).is_ok() {
            return Ok(());
        }
        // The name is taken, or the file system has no hard links.
        let mut file = fs::create_private(&path)?;
        file.write_all(bytes).inspect_err(|_| {
            let _ = self.remove(name);
        })
    }

    /// Creates or replaces a file atomically.
    ///
    /// # Errors
    /// Writing fails; the file is then unchanged.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        let mut draft = Draft::create_in_existing(&path)?;
        draft.write_all(bytes).map_err(|error| fs::with_path(error, "write", &path))?;
        draft.rename(&path)
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        fs_err::remove_file(self.path.join(name))
    }

    /// Creates a private directory; `AlreadyExists` if the name is taken.
    pub fn create_dir(&self, name: &str) -> io::Result<()> {
        fs::make_private_dir(&self.path.join(name))
    }

    pub fn remove_dir(&self, name: &str) -> io::Result<()> {
        fs_err::remove_dir(self.path.join(name))
    }

    /// Creates an empty file unless the name is taken.
    pub fn create_empty(&self, name: &str) -> io::Result<()> {
        match fs::create_private(&self.path.join(name)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            created => created.map(drop),
        }
    }

    /// Sets the time of a subdirectory to now.
    pub fn renew(&self, name: &str) -> io::Result<()> {
        let path = self.path.join(name);
        os::files::renew(&path).map_err(|error| fs::with_path(error, "set the time of", &path))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn file_is_never_overwritten_and_symlink_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Directory::at(dir.path()).unwrap();
        symlink("nowhere", dir.path().join("link")).unwrap();
        folder.create("1.json", b"one").unwrap();
        for name in ["1.json", "link"] {
            assert_eq!(folder.create(name, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(folder.read("1.json", 9).unwrap().unwrap(), b"one");
        assert_eq!(folder.names().unwrap(), ["1.json", "link"], "nothing temporary stays");
        let mode = dir.path().join("1.json").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(folder.read("link", 9).is_err() && folder.subdirectory("link").is_err());
        assert!(folder.subdirectory("1.json").is_err() && folder.subdirectory("2.json").unwrap().is_none());
        assert_eq!(folder.read("1.json", 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
