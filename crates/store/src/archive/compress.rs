//! Compresses the files of a run that has ended.

use std::io;

use super::contents;
use super::directory::Archive;
use super::journal_points::MAIN;
use super::run::RunRecord;
use crate::packed;

impl Archive {
    /// Compresses the contents and the journal of a run that has ended, unless the run continues. After an error, the files that
    /// are not compressed are unchanged.
    pub fn compress(&self, run: &RunRecord) -> io::Result<()> {
        let Some(dir) = self.run_dir(&run.run) else { return Ok(()) };
        for path in [contents::DATA, contents::LIST, MAIN].map(|name| dir.join(name)) {
            packed::compress(&path, |draft, size| {
                let Some(subject) = run.subject() else { return Ok(()) };
                let Some(_lock) = self.lock(&subject)? else { return Ok(()) };
                let has_ended = self.run(&run.run).is_some_and(|now| now.ended_at.is_some());
                let is_same = has_ended && path.symlink_metadata()?.len() == size;
                if is_same { packed::replace(&path, draft) } else { Ok(()) }
            })?;
        }
        Ok(())
    }
}
