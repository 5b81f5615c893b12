//! An open directory. Operations in it are not affected if its path is replaced by a link.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use teamkeep_system::fs;

const DIR_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PRIVATE_DIR: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

#[derive(Debug)]
pub struct DirHandle {
    handle: OwnedFd,
    pub path: PathBuf,
}

impl DirHandle {
    /// Opens a directory that the user named or Claude Code has; links before the last part are followed.
    pub fn open(path: &Path) -> io::Result<DirHandle> {
        open_at(CWD, path, path.to_path_buf())
    }

    /// Opens a subdirectory; `None` if it does not exist.
    pub fn open_dir(&self, name: &str) -> io::Result<Option<DirHandle>> {
        match open_at(&self.handle, Path::new(name), self.path.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Opens a subdirectory, and creates it as private if it is missing. Returns whether it was created.
    pub fn open_or_create_dir(&self, name: &str) -> io::Result<(DirHandle, bool)> {
        let is_created = match self.create_dir(name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            created => created.map(|()| true)?,
        };
        Ok((open_at(&self.handle, Path::new(name), self.path.join(name))?, is_created))
    }

    pub fn names(&self) -> io::Result<Vec<String>> {
        let failed = |error: Errno| fs::with_path(error.into(), "list", &self.path);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if !matches!(name.as_str(), "." | "..") {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The metadata for a name, without following links; `None` if it does not exist.
    pub fn metadata(&self, name: &str) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            stat => stat.map(Some).map_err(self.failed("inspect", name)),
        }
    }

    /// Reads a regular file of at most `max_bytes`; `None` if it does not exist.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            opened => File::from(opened.map_err(self.failed("open", name))?),
        };
        if !file.metadata()?.is_file() {
            let what = format!("{} is not a regular file", path.display());
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        }
        let mut bytes = Vec::new();
        file.take(max_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| fs::with_path(error, "read", &path))?;
        if bytes.len() as u64 > max_bytes {
            let what = format!("{} is larger than {max_bytes} bytes", path.display());
            return Err(io::Error::new(ErrorKind::FileTooLarge, what));
        }
        Ok(Some(bytes))
    }

    /// Creates a complete file, never over another.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; otherwise writing fails, and nothing is left.
    pub fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.temporary(name, bytes)?;
        let created = match rustix::fs::linkat(&self.handle, &temporary, &self.handle, name, AtFlags::empty())
        {
            Err(Errno::EXIST) => Err(Errno::EXIST.into()),
            // Some file systems have no hard links.
            Err(_) => self.fill(name, bytes),
            Ok(()) => Ok(()),
        };
        let _ = self.remove(&temporary);
        created.map_err(|error| fs::with_path(error, "write", &self.path.join(name)))
    }

    /// Creates or replaces a file atomically.
    ///
    /// # Errors
    /// Writing fails; the file is then unchanged.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.temporary(name, bytes)?;
        rustix::fs::renameat(&self.handle, &temporary, &self.handle, name).map_err(|error| {
            let _ = self.remove(&temporary);
            self.failed("rename to", name)(error)
        })
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()).map_err(self.failed("remove", name))
    }

    /// Creates a private directory; `AlreadyExists` if the name is taken.
    pub fn create_dir(&self, name: &str) -> io::Result<()> {
        let failed = self.failed("create the directory", name);
        rustix::fs::mkdirat(&self.handle, name, PRIVATE_DIR).map_err(failed)
    }

    pub fn remove_dir(&self, name: &str) -> io::Result<()> {
        rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR).map_err(self.failed("remove", name))
    }

    pub fn touch(&self, name: &str) -> io::Result<()> {
        match self.fill(name, b"") {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other.map_err(|error| fs::with_path(error, "make", &self.path.join(name))),
        }
    }

    pub fn touch_mtime(&self, name: &str) -> io::Result<()> {
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
        rustix::fs::utimensat(&self.handle, name, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(self.failed("set the time of", name))
    }

    fn failed<'a>(&'a self, verb: &'a str, name: &'a str) -> impl Fn(Errno) -> io::Error + 'a {
        move |error| fs::with_path(error.into(), verb, &self.path.join(name))
    }

    /// Writes a temporary file with this content. Its name starts with a dot, and Claude Code ignores such files.
    fn temporary(&self, name: &str, bytes: &[u8]) -> io::Result<String> {
        let path = fs::temporary_path(&self.path.join(name));
        let temporary = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.fill(&temporary, bytes).map_err(|error| fs::with_path(error, "write", &path))?;
        Ok(temporary)
    }

    /// Creates a file with this content; an incomplete one is removed. It is not synced: the restore record has the content,
    /// and Claude Code waits at most three seconds for a lock (seen 2.1.177, 2.1.328).
    fn fill(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.handle, name, flags, PRIVATE_FILE)?);
        file.write_all(bytes).inspect_err(|_| {
            let _ = self.remove(name);
        })
    }
}

pub(super) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn open_at(parent: impl AsFd, name: &Path, path: PathBuf) -> io::Result<DirHandle> {
    let why = match rustix::fs::openat(parent, name, DIR_FLAGS, Mode::empty()) {
        Ok(handle) => return Ok(DirHandle { handle, path }),
        Err(Errno::NOTDIR | Errno::LOOP) if path.is_symlink() => "it is a symlink, which is not followed",
        Err(Errno::NOTDIR | Errno::LOOP) => "it is not a directory",
        Err(error) => return Err(fs::with_path(error.into(), "open", &path)),
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("cannot open {}: {why}", path.display())))
}

/// The hash of a file's content.
pub(super) fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn file_is_never_overwritten_and_symlink_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = DirHandle::open(dir.path()).unwrap();
        symlink("nowhere", dir.path().join("link")).unwrap();
        folder.create("1.json", b"one").unwrap();
        for name in ["1.json", "link"] {
            assert_eq!(folder.create(name, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(folder.read("1.json", 9).unwrap().unwrap(), b"one");
        assert_eq!(folder.names().unwrap(), ["1.json", "link"], "nothing temporary stays");
        let mode = dir.path().join("1.json").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(folder.read("link", 9).is_err() && folder.open_dir("link").is_err());
        assert!(folder.open_dir("1.json").is_err() && folder.open_dir("2.json").unwrap().is_none());
        assert_eq!(folder.read("1.json", 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn operations_stay_in_the_opened_directory() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("list")).unwrap();
        let folder = DirHandle::open(&dir.path().join("list")).unwrap();
        std::fs::rename(dir.path().join("list"), dir.path().join("moved")).unwrap();
        std::fs::create_dir(dir.path().join("away")).unwrap();
        symlink(dir.path().join("away"), dir.path().join("list")).unwrap();
        folder.create("1.json", b"one").unwrap();
        assert!(dir.path().join("moved/1.json").exists() && !dir.path().join("away/1.json").exists());
    }
}
