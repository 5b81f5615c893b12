//! The locks of the store: files in `locks/`, and `events.lock` and `gates.lock` in the directory of a log.
//!
//! Who holds a lock in `locks/` takes no other of them, but may take an `events.lock`; only a prune, which holds
//! [`StoreLock::Changes`], takes those of the teams whose runs it removes. Who holds a `gates.lock` may take
//! [`StoreLock::Overrides`]. So no two processes wait for each other.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fs::{self, Lock};
use teamkeep_model::event::SafeName;

/// The right of the process that holds it.
#[derive(Debug, Clone, Copy)]
pub enum StoreLock<'a> {
    /// Write the index and the run of a team, by the name of its index. Hook calls hold it while they store changes.
    Team(&'a str),
    /// Write `sessions/<session>.json`.
    Sessions,
    /// Write `overrides.json`.
    Overrides,
    /// Write `trust.json`.
    Trust,
    /// Import or prune runs.
    Changes,
    /// Ship, and write `shipping.json`.
    Shipping,
    /// Restore tasks.
    Restores,
    /// Send the notifications of a run.
    Notifications(&'a SafeName),
}

impl StoreLock<'_> {
    pub fn path(self, store: &Path) -> PathBuf {
        store.join("locks").join(self.to_string())
    }

    /// Takes the lock; `None` if it is not free within `patience`.
    pub fn take(self, store: &Path, patience: Duration) -> io::Result<Option<Lock>> {
        fs::lock(&self.path(store), patience)
    }

    /// Whether another process holds the lock.
    pub fn is_held(self, store: &Path) -> io::Result<bool> {
        fs::is_locked(&self.path(store))
    }
}

impl fmt::Display for StoreLock<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // These begin with `team`, `session-` or `long-`.
            StoreLock::Team(stem) => out.write_str(stem),
            StoreLock::Sessions => out.write_str("sessions"),
            StoreLock::Overrides => out.write_str("overrides"),
            StoreLock::Trust => out.write_str("trust"),
            StoreLock::Changes => out.write_str("changes"),
            StoreLock::Shipping => out.write_str("shipping"),
            StoreLock::Restores => out.write_str("restores"),
            StoreLock::Notifications(run) => write!(out, "notifications-{run}"),
        }
    }
}
