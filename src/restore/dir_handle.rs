//! An open directory. Operations in it are not affected if its path is replaced by a link.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

use teamkeep_core::sys::fs;

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
        let opened = rustix::fs::openat(rustix::fs::CWD, path, DIR_FLAGS, Mode::empty());
        let handle = opened.map_err(|error| not_a_directory(error, path))?;
        Ok(DirHandle { handle, path: path.to_path_buf() })
    }

    /// Opens a subdirectory; `None` if it does not exist.
    pub fn open_dir(&self, name: &str) -> io::Result<Option<DirHandle>> {
        let path = self.path.join(name);
        match rustix::fs::openat(&self.handle, name, DIR_FLAGS, Mode::empty()) {
            Ok(handle) => Ok(Some(DirHandle { handle, path })),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(not_a_directory(error, &path)),
        }
    }

    /// Opens a subdirectory, and creates it as private if it is missing. Returns whether it was created.
    pub fn open_or_create_dir(&self, name: &str) -> io::Result<(DirHandle, bool)> {
        let path = self.path.join(name);
        let made = match rustix::fs::mkdirat(&self.handle, name, PRIVATE_DIR) {
            Ok(()) => true,
            Err(rustix::io::Errno::EXIST) => false,
            Err(error) => return Err(self.failed("create the directory", name)(error)),
        };
        let gone = || fs::with_path(io::ErrorKind::NotFound.into(), "open", &path);
        Ok((self.open_dir(name)?.ok_or_else(gone)?, made))
    }

    pub fn names(&self) -> io::Result<Vec<String>> {
        let failed = |error: rustix::io::Errno| fs::with_path(error.into(), "list", &self.path);
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
            Ok(stat) => Ok(Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed("inspect", name)(error)),
        }
    }

    /// Reads a regular file of at most `most` bytes; `None` if it does not exist.
    pub fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.failed("open", name)(error)),
        };
        if !file.metadata()?.is_file() {
            let what = format!("{} is not a regular file", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes).map_err(|error| fs::with_path(error, "read", &path))?;
        if bytes.len() as u64 > most {
            let what = format!("{} is larger than {most} bytes", path.display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        Ok(Some(bytes))
    }

    /// Creates a complete file, never over another.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; otherwise writing fails, and nothing is left.
    pub fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.temporary(name, bytes)?;
        let linked = rustix::fs::linkat(&self.handle, &temporary, &self.handle, name, AtFlags::empty());
        let placed = match linked {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::EXIST) => Err(rustix::io::Errno::EXIST.into()),
            // A file system without hard links: Claude Code writes in this way, too.
            Err(_) => self.fill(name, bytes),
        };
        let _ = self.remove(&temporary);
        placed.map_err(|error| fs::with_path(error, "write", &self.path.join(name)))
    }

    /// Creates or replaces a file atomically.
    ///
    /// # Errors
    /// Writing fails; the file is then unchanged.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.temporary(name, bytes)?;
        rustix::fs::renameat(&self.handle, &temporary, &self.handle, name).map_err(|error| {
            let _ = self.remove(&temporary);
            fs::with_path(error.into(), "rename to", &self.path.join(name))
        })
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()).map_err(self.failed("remove", name))
    }

    /// Creates a private directory.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; otherwise it cannot be created.
    pub fn create_dir(&self, name: &str) -> io::Result<()> {
        let failed = self.failed("create the directory", name);
        rustix::fs::mkdirat(&self.handle, name, PRIVATE_DIR).map_err(failed)
    }

    pub fn remove_dir(&self, name: &str) -> io::Result<()> {
        rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR).map_err(self.failed("remove", name))
    }

    pub fn touch(&self, name: &str) -> io::Result<()> {
        match self.fill(name, b"") {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other.map_err(|error| fs::with_path(error, "make", &self.path.join(name))),
        }
    }

    pub fn touch_mtime(&self, name: &str) -> io::Result<()> {
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
        rustix::fs::utimensat(&self.handle, name, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(self.failed("set the time of", name))
    }

    fn failed<'a>(&'a self, what: &'a str, name: &'a str) -> impl Fn(rustix::io::Errno) -> io::Error + 'a {
        move |error| fs::with_path(error.into(), what, &self.path.join(name))
    }

    /// Writes a temporary file with this content. Its name starts with a dot, and Claude Code ignores such files.
    fn temporary(&self, name: &str, bytes: &[u8]) -> io::Result<String> {
        let beside = fs::temporary_path(&self.path.join(name));
        let temporary = beside.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.fill(&temporary, bytes).map_err(|error| fs::with_path(error, "write", &beside))?;
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

fn not_a_directory(error: rustix::io::Errno, path: &Path) -> io::Error {
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let why = match error {
        _ if is_link => "it is a symlink, which is not followed",
        rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP => "it is not a directory",
        other => return fs::with_path(other.into(), "open", path),
    };
    io::Error::new(io::ErrorKind::InvalidInput, format!("cannot open {}: {why}", path.display()))
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
