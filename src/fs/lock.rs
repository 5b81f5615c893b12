//! Locks, waited for no longer than asked.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};

use super::read::regular;
use super::{named, open_private};

/// An exclusive lock, released when it goes out of scope or its process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    /// The locked file, open for reading and writing: small state may stand in it.
    pub file: File,
}

impl Lock {
    /// Sets the file's modification time to now, so that others see when the lock was last taken.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn touch(&self) -> io::Result<()> {
        let at = |nanoseconds| Timespec { tv_sec: 0, tv_nsec: nanoseconds };
        let times = Timestamps { last_access: at(UTIME_OMIT), last_modification: at(UTIME_NOW) };
        Ok(futimens(&self.file, &times)?)
    }
}

/// Takes the exclusive lock on a file (made when missing), waiting at most `patience`; `None` when that is over.
///
/// # Errors
/// When the file is a link or cannot be opened, or locking is not possible there.
pub fn lock(path: &Path, patience: Duration) -> io::Result<Option<Lock>> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let file = open_private(&mut options, path)?;
    regular(&file, path)?;
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(Lock { file })),
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(4));
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(named(error, "lock", path)),
        }
    }
}

/// Whether something that is no regular file stands at this path: nobody can hold a lock there.
pub fn is_obstructed(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_longer_than_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = lock(&path, Duration::ZERO).unwrap();
        assert!(held.is_some());
        assert!(lock(&path, Duration::from_millis(5)).unwrap().is_none());
        drop(held);
        // Another test's child may still hold a copy of the handle, until it runs its own program.
        assert!(lock(&path, Duration::from_secs(10)).unwrap().is_some());
    }
}
