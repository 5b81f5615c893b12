//! Ends of runs that could not be written immediately, so that another process's lock does not keep a run open
//! indefinitely.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::run::EndedBy;
use super::store::{Archive, CaptureScope};
use crate::clock::{self, Time};
use crate::fs::{Document, JsonFile, LockBudget};
use crate::json;

/// A pending end: `ending/<run>-<by>`.
#[derive(Debug, Serialize, Deserialize)]
struct PendingEnd {
    v: u8,
    subject: String,
    run: String,
    by: EndedBy,
    reason: Option<String>,
    at: String,
}

impl Document for PendingEnd {
    const MAX_BYTES: u64 = 1 << 20;
}

impl Archive {
    /// Closes the subject's run. If its lock is not available, leaves a mark for [`Archive::settle`]. Returns whether
    /// work remains to be done.
    ///
    /// # Errors
    /// When the mark cannot be written either.
    pub fn close_run(
        &self,
        subject: &CaptureScope,
        by: EndedBy,
        reason: Option<&str>,
        at: Time,
    ) -> io::Result<bool> {
        let refused = match self.update_run(subject, |_, run| run.end(by, reason, at)) {
            Err(error) => error,
            ended => return ended,
        };
        let Some(index) = self.index(subject) else { return Err(refused) };
        let name = format!("{}-{}", index.run, json::serde_name(&by));
        let ending = PendingEnd {
            v: 1,
            subject: subject.key(),
            run: index.run,
            by,
            reason: reason.map(str::to_owned),
            at: clock::stamp(at),
        };
        JsonFile::at(self.ending_dir().join(name)).write(&ending).map(|_| true)
    }

    /// Whether an end is pending.
    pub fn has_endings(&self) -> bool {
        std::fs::read_dir(self.ending_dir()).is_ok_and(|mut listing| listing.next().is_some())
    }

    /// Writes the pending ends, waiting at most `patience` for each lock. Returns whether any run was closed.
    pub fn settle(&self, patience: Duration) -> bool {
        let mut closed = false;
        let mut archive = self.clone();
        archive.lock_budget = LockBudget::new(patience);
        for entry in std::fs::read_dir(self.ending_dir()).into_iter().flatten().flatten() {
            let file = JsonFile::<PendingEnd>::at(entry.path());
            let Some(ending) = file.read().ok().and_then(|read| read.valid().ok()?) else { continue };
            let (Some(subject), Some(at)) =
                (CaptureScope::from_key(&ending.subject), clock::parse(&ending.at))
            else {
                continue;
            };
            let ended = archive.update_run(&subject, |_, run| {
                run.run == ending.run && run.end(ending.by, ending.reason.as_deref(), at)
            });
            if let Ok(ended) = ended {
                closed |= ended;
                let _ = std::fs::remove_file(entry.path());
            }
        }
        closed
    }
}
