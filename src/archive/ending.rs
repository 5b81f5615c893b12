//! Ends of runs that could not be noted at once: whoever kept the lock too long must not keep a run open for ever.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::run::EndedBy;
use super::store::{Archive, Subject, read_json, write_json};
use crate::clock::{self, Time};
use crate::json;

/// An end that is still to be noted: `ending/<run>-<by>`.
#[derive(Debug, Serialize, Deserialize)]
struct Ending {
    v: u8,
    subject: String,
    run: String,
    by: EndedBy,
    reason: Option<String>,
    at: String,
}

impl Archive {
    /// Closes the subject's run. Where its lock is not to be had, a mark is left that [`Archive::settle`] picks up.
    /// Says whether there is anything to finish.
    ///
    /// # Errors
    /// When the disk refuses the mark as well.
    pub fn end(&self, subject: &Subject, by: EndedBy, reason: Option<&str>, at: Time) -> io::Result<bool> {
        let refused = match self.amend(subject, |_, run| run.end(by, reason, at)) {
            Err(error) => error,
            ended => return ended,
        };
        let Some(index) = self.index(subject) else { return Err(refused) };
        let name = format!("{}-{}", index.run, json::word(&by));
        let ending = Ending {
            v: 1,
            subject: subject.key(),
            run: index.run,
            by,
            reason: reason.map(str::to_owned),
            at: clock::stamp(at),
        };
        write_json(&self.ending_dir().join(name), &ending, false).map(|()| true)
    }

    /// Whether an end is still to be noted.
    pub fn has_endings(&self) -> bool {
        std::fs::read_dir(self.ending_dir()).is_ok_and(|mut listing| listing.next().is_some())
    }

    /// Notes the ends that could not be noted before, and waits no longer than this for each lock. Says whether any
    /// run was closed.
    pub fn settle(&self, patience: Duration) -> bool {
        let mut closed = false;
        let archive = self.with_patience(patience);
        for entry in std::fs::read_dir(self.ending_dir()).into_iter().flatten().flatten() {
            let Some(ending) = read_json::<Ending>(&entry.path()) else { continue };
            let (Some(subject), Some(at)) = (Subject::from_key(&ending.subject), clock::parse(&ending.at))
            else {
                continue;
            };
            let ended = archive.amend(&subject, |_, run| {
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
