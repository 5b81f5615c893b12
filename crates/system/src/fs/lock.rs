//! File locks with a time limit.

use std::fs::TryLockError;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fs_err::File;

use super::kinds::OpenMode;
use super::read::{open_regular, regular};
use super::{if_exists, open_private, with_path};
use crate::os;

/// An exclusive lock, released when it is dropped or when its process ends.
#[derive(Debug)]
pub struct Lock {
    /// The file, open for reading and writing. It may hold a small state, which others read without the lock.
    pub file: File,
    /// The file that is locked instead, if there is one.
    beside: Option<File>,
}

impl Drop for Lock {
    /// Closing the file is not enough: a child that another thread has just forked has it open until it calls `exec`.
    fn drop(&mut self) {
        let _ = self.beside.as_ref().unwrap_or(&self.file).unlock();
    }
}

/// The time that one process may wait for several locks together.
#[derive(Debug, Clone)]
pub struct LockBudget {
    limit: Duration,
    /// In microseconds.
    spent: Arc<AtomicU64>,
}

/// How long to wait for a lock when the time for all locks is used up: some are held only briefly.
const MIN_LOCK_WAIT: Duration = Duration::from_millis(10);

impl LockBudget {
    pub fn new(limit: Duration) -> LockBudget {
        LockBudget { limit, spent: Arc::default() }
    }

    pub fn remaining(&self) -> Duration {
        let spent = Duration::from_micros(self.spent.load(Ordering::Relaxed));
        self.limit.saturating_sub(spent).max(self.limit.min(MIN_LOCK_WAIT))
    }

    /// Uses up the time since then, spent waiting for a lock.
    pub fn charge(&self, since: Instant) {
        let spent = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.spent.fetch_add(spent.min(u64::MAX >> 8), Ordering::Relaxed);
    }

    pub fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let start = Instant::now();
        let locked = lock(path, self.remaining());
        self.charge(start);
        locked
    }
}

/// Locks a file, which is created if missing; a link is not followed. `None` if it is not free within `patience`.
pub fn lock(path: &Path, patience: Duration) -> io::Result<Option<Lock>> {
    let beside = os::files::lock_file_beside(path);
    let locked_path = beside.as_deref().unwrap_or(path);
    let open = || open_private(locked_path, OpenMode::Lock);
    let mut file = open()?;
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match file.try_lock() {
            Ok(()) => {
                let metadata = regular(&file)?;
                if os::files::is_at(file.file(), &metadata, locked_path) {
                    return Ok(Some(match beside {
                        None => Lock { file, beside: None },
                        Some(_) => Lock { file: open_private(path, OpenMode::Lock)?, beside: Some(file) },
                    }));
                }
                // The process that had the lock removed the file: a third one may lock a new one.
                file = open()?;
            }
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(4));
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(with_path(error, "lock", path)),
        }
    }
}

/// Whether another process holds the lock. Does not create the file.
pub fn is_locked(path: &Path) -> io::Result<bool> {
    let beside = os::files::lock_file_beside(path);
    let locked_path = beside.as_deref().unwrap_or(path);
    let Some(file) = if_exists(open_regular(locked_path))? else { return Ok(false) };
    // Shared, so that several processes that only ask do not see each other.
    match file.try_lock_shared() {
        // Closing the file would be enough, but see the drop of a lock.
        Ok(()) => {
            let _ = file.unlock();
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(with_path(error, "lock", path)),
    }
}

pub fn held_error(owner: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("another process holds {owner} lock"))
}

/// Returns whether the path exists but is not a regular file, so that it cannot be locked.
pub fn is_blocked_by_other_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_waited_for_until_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = lock(&path, Duration::ZERO).unwrap();
        assert!(held.is_some());
        assert!(lock(&path, Duration::from_millis(5)).unwrap().is_none());
        drop(held);
        assert!(lock(&path, Duration::ZERO).unwrap().is_some());
    }

    #[test]
    #[cfg_attr(windows, ignore = "wine keeps the name of a removed file that is open")]
    fn a_lock_whose_file_was_removed_meanwhile_is_taken_on_the_new_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dir/lock");
        for _ in 0..20 {
            let held = lock(&path, Duration::ZERO).unwrap().unwrap();
            let taken = std::thread::scope(|scope| {
                let waits = scope.spawn(|| lock(&path, Duration::from_secs(60)).unwrap().unwrap());
                std::thread::sleep(Duration::from_millis(2));
                std::fs::remove_dir_all(dir.path().join("dir")).unwrap();
                drop(held);
                waits.join().unwrap()
            });
            assert!(is_locked(&path).unwrap());
            drop(taken);
            assert!(!is_locked(&path).unwrap());
        }
    }

    #[test]
    fn a_process_can_ask_whether_a_lock_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!is_locked(&path).unwrap() && !path.exists());
        let held = lock(&path, Duration::ZERO).unwrap();
        assert!(is_locked(&path).unwrap());
        drop(held);
        assert!(!is_locked(&path).unwrap());
    }

    #[test]
    fn the_content_of_a_file_is_read_while_another_process_holds_its_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = lock(&path, Duration::ZERO).unwrap().unwrap();
        os::files::write_all_at(&held.file, b"state", 0).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"state");
        // Wine lets others read what is locked, but Windows does not.
        assert!(!cfg!(windows) || open_regular(&path).unwrap().try_lock_shared().is_ok());
    }

    #[test]
    fn a_lock_is_released_although_another_descriptor_of_the_file_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = lock(&path, Duration::ZERO).unwrap().unwrap();
        // As in a child that was forked.
        let copy = held.file.file().try_clone().unwrap();
        drop(held);
        assert!(lock(&path, Duration::ZERO).unwrap().is_some());
        drop(copy);
    }
}
