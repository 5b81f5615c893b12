//! What a human let through: pauses, and single occasions. `policy/overrides.json`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::{self, Time};
use crate::fs;

/// What is let through at present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    /// Version of the format: 1.
    pub v: u8,
    /// Gates that are paused.
    pub pauses: Vec<Pause>,
    /// Teammates whose next shutdown is let through, by name.
    pub shutdowns: Vec<String>,
}

/// A gate that is paused for a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// The gate; all of them without one.
    pub gate: Option<String>,
    /// The team; all of them without one.
    pub team: Option<String>,
    /// Until when, RFC 3339.
    pub until: String,
}

/// The file.
#[derive(Debug, Clone)]
pub struct OverrideFile {
    path: PathBuf,
    patience: Duration,
}

impl OverrideFile {
    /// The file in the gatekeeper's directory.
    pub fn new(dir: &std::path::Path, patience: Duration) -> OverrideFile {
        OverrideFile { path: dir.join("overrides.json"), patience }
    }

    /// What it says; nothing is let through by a damaged one.
    pub fn read(&self) -> Overrides {
        let bytes = std::fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Changes it as one step.
    ///
    /// # Errors
    /// When the disk refuses, or the lock is kept by somebody else for too long.
    pub fn change<T>(&self, change: impl FnOnce(&mut Overrides) -> T) -> io::Result<T> {
        let Some(_lock) = fs::lock(&self.path.with_extension("lock"), self.patience)? else {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the policy's lock is kept by another process",
            ));
        };
        let before = self.read();
        let mut overrides = before.clone();
        let result = change(&mut overrides);
        if overrides != before {
            overrides.v = 1;
            fs::write_atomic(&self.path, &serde_json::to_vec(&overrides)?, false)?;
        }
        Ok(result)
    }
}

impl Overrides {
    /// Whether a gate is paused for a team.
    pub fn is_paused(&self, gate: &str, team: Option<&str>, now: Time) -> bool {
        self.pauses.iter().any(|pause| {
            pause.gate.as_deref().is_none_or(|paused| paused == gate)
                && pause.team.as_deref().is_none_or(|paused| Some(paused) == team)
                && clock::parse(&pause.until).is_some_and(|until| now < until)
        })
    }
}
