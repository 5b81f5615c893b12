//! Claude Code's lock on a task list, taken as Claude Code does (seen 2.1.177, 2.1.328).
//!
//! The process that creates the directory `.lock.lock` beside the empty file `.lock` has the lock. It renews the
//! directory's time; a lock older than ten seconds belongs to a killed process and is taken over.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use super::directory::Directory;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::{FileId, OpenMode};
use teamkeep_system::os;

pub(super) const FILE: &str = ".lock";
const LOCK: &str = ".lock.lock";
/// The age at which a lock belongs to a killed process.
const MAX_AGE: Duration = Duration::from_secs(10);
/// How long to wait for Claude Code: longer than it keeps any lock.
const TIMEOUT: Duration = Duration::from_secs(15);
const RENEWAL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct ClientLock<'a> {
    pub dir: &'a Directory,
    name: String,
    id: FileId,
    /// Keeps the directory open, so that no other one gets its number.
    _open: std::fs::File,
    renewed: Instant,
}

impl<'a> ClientLock<'a> {
    pub fn list(dir: &'a Directory) -> Result<ClientLock<'a>> {
        dir.create_empty(FILE)?;
        if !dir.metadata(FILE)?.as_ref().is_some_and(|found| found.is_file()) {
            let what = format!("cannot lock the list {}", dir.path.display());
            return Err(Error::caused(what, format!("its {FILE} is not a regular file")));
        }
        ClientLock::acquire(dir, LOCK)
    }

    pub fn task(dir: &'a Directory, file: &str) -> Result<ClientLock<'a>> {
        ClientLock::acquire(dir, &format!("{file}.lock"))
    }

    fn acquire(dir: &'a Directory, name: &str) -> Result<ClientLock<'a>> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(5);
        while let Err(error) = dir.create_dir(name) {
            let modified = dir.path.join(name).symlink_metadata().and_then(|metadata| metadata.modified());
            if error.kind() != ErrorKind::AlreadyExists {
                return Err(error.into());
            } else if modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > MAX_AGE)) {
                // It may have been released meanwhile, or may not be empty: the next attempt shows it.
                let _ = dir.remove_dir(name);
            } else if start.elapsed() > TIMEOUT {
                let what = format!("cannot lock {}", dir.path.join(name).display());
                return Err(Error::caused(what, "another process holds Claude Code's lock")
                    .hint("nothing was changed; try again later"));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
        }
        let path = dir.path.join(name);
        let id = os::files::id(&path, &dir.metadata(name)?.ok_or_else(|| lost(dir, name))?);
        let (name, open, now) = (name.to_owned(), os::files::open(&path, OpenMode::Read)?, Instant::now());
        Ok(ClientLock { dir, name, id, _open: open, renewed: now })
    }

    /// Checks that the lock is still held, and renews it if due.
    ///
    /// # Errors
    /// Another process took it over, because this one was stopped for too long.
    pub fn renew(&mut self) -> Result<()> {
        if !self.is_ours() {
            return Err(lost(self.dir, &self.name));
        }
        if self.renewed.elapsed() > RENEWAL {
            self.dir.renew(&self.name)?;
            self.renewed = Instant::now();
        }
        Ok(())
    }

    fn is_ours(&self) -> bool {
        let path = self.dir.path.join(&self.name);
        matches!(self.dir.metadata(&self.name), Ok(Some(found)) if os::files::id(&path, &found) == self.id)
    }
}

impl Drop for ClientLock<'_> {
    fn drop(&mut self) {
        if self.is_ours() {
            let _ = self.dir.remove_dir(&self.name);
        }
    }
}

fn lost(dir: &Directory, name: &str) -> Error {
    let what = format!("cannot keep the lock {}", dir.path.join(name).display());
    Error::caused(what, "another process took it over")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_excludes_others_until_it_is_released() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Directory::at(temp.path()).unwrap();
        let mut lock = ClientLock::list(&dir).unwrap();
        lock.renew().unwrap();
        assert_eq!(dir.create_dir(LOCK).unwrap_err().kind(), ErrorKind::AlreadyExists);
        drop(lock);
        assert_eq!(dir.names().unwrap(), [FILE]);
    }

    #[test]
    fn stale_lock_is_taken_over_and_a_lost_lock_is_not_removed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Directory::at(temp.path()).unwrap();
        dir.create_dir(LOCK).unwrap();
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1);
        std::fs::File::open(temp.path().join(LOCK)).unwrap().set_modified(old).unwrap();
        let mut lock = ClientLock::list(&dir).unwrap();
        std::fs::rename(temp.path().join(LOCK), temp.path().join("other")).unwrap();
        dir.create_dir(LOCK).unwrap();
        assert!(lock.renew().unwrap_err().to_string().ends_with("another process took it over"));
        drop(lock);
        assert!(temp.path().join(LOCK).exists());
    }
}
