//! Imports a validated bundle.

use super::collect::gather;
use super::manifest::{Manifest, Part, RUN, hash_of};
use super::unpack::UnpackedBundle;
use crate::archive::{ExclusiveArchive, Imported, RunRecord};
use crate::clock::{self, Time};
use crate::error::{Error, Result};
use crate::fs;
use crate::timeline::RunCatalog;

/// The result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It was imported.
    New,
    /// The same run already existed; this many of its lost or damaged contents were repaired.
    There {
        /// Number of repaired contents.
        repaired: usize,
    },
}

impl UnpackedBundle {
    /// Imports it.
    ///
    /// # Errors
    /// Another recording of the same run exists, or writing fails; nothing is then visible.
    pub fn install(self, library: &RunCatalog, right: &ExclusiveArchive, now: Time) -> Result<ImportOutcome> {
        let there = right.archive().run_dir(&self.run.run).is_some_and(|dir| dir.symlink_metadata().is_ok());
        if there {
            let known = library.runs.iter().find(|run| run.run == self.run.run);
            self.compare(library, known)?;
            return Ok(ImportOutcome::There { repaired: self.adopt(right)? });
        }
        self.adopt(right)?;
        let imported = Imported {
            at: clock::stamp(now),
            from: self.manifest.from.clone(),
            until: self.manifest.until.clone(),
            redacted: self.manifest.redacted.clone(),
        };
        let record = RunRecord { imported: Some(imported), ..self.run.clone() };
        let bytes = serde_json::to_vec(&record).map_err(Error::from_json)?;
        let path = self.place(RUN);
        fs::write_atomic(&path, &bytes)?;
        if let Some(dir) = path.parent() {
            right.publish_run(dir, &self.run.run)?;
        }
        Ok(ImportOutcome::New)
    }

    /// Stores the contents, and returns how many were needed.
    fn adopt(&self, right: &ExclusiveArchive) -> Result<usize> {
        let mut taken = 0;
        for part in &self.manifest.entries {
            if let Some(hash) = hash_of(&part.name) {
                let packed = self.transcripts.contains(hash);
                taken += usize::from(right.import_object(&self.place(&part.name), hash, packed)?);
            }
        }
        Ok(taken)
    }

    /// Checks that the recorded run is the same, except for lost contents.
    fn compare(&self, library: &RunCatalog, known: Option<&RunRecord>) -> Result<()> {
        let run = &self.run.run;
        let other = |what: &str| Err(Error::new(format!("run {run} already exists, and {what}")));
        let Some(known) = known else {
            return other("its recorded data is damaged")
                .map_err(|error: Error| error.hint(format!("teamkeep verify {run}")));
        };
        let mine = gather(library, known, None, None, &mut |_| ())?.manifest;
        let told = |manifest: &Manifest| -> Vec<Part> {
            manifest.entries.iter().filter(|part| hash_of(&part.name).is_none()).cloned().collect()
        };
        if told(&mine) == told(&self.manifest) {
            return Ok(());
        }
        let what = match (&mine.redacted, &self.manifest.redacted) {
            (None, Some(_)) => "the existing one is not redacted",
            (Some(_), None) => "the existing one is redacted",
            _ => "the existing one differs: it may have continued since",
        };
        other(what).map_err(|error: Error| {
            error.hint("nothing was changed; to compare the two, import it into another TEAMKEEP_HOME")
        })
    }
}
