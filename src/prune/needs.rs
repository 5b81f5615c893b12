//! What a run needs, and whether all of that is known.

use std::collections::BTreeSet;

use crate::archive::{Archive, RunRecord};

/// What a run needs.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The hashes that it names.
    pub hashes: BTreeSet<String>,
    /// Why there may be others, if so.
    pub unread: Option<String>,
}

/// Reads what a run needs.
pub(super) fn needs(archive: &Archive, run: &RunRecord) -> Needs {
    let journal = archive.journal(&run.run);
    let changes = journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
    let mut needs =
        Needs { hashes: changes.filter_map(|change| change.object.clone()).collect(), unread: None };
    let name = &run.run;
    if journal.damaged > 0 {
        needs.unread = Some(format!("the journal of run {name} cannot be read whole"));
    }
    match archive.read_kept(name) {
        Ok(Some(kept)) => needs.hashes.extend(kept.into_values().map(|kept| kept.object)),
        Ok(None) if !run.has_transcripts() => {}
        Ok(None) => needs.doubt(format!("the transcripts.json of run {name} is missing")),
        Err(_) => needs.doubt(format!("the transcripts.json of run {name} cannot be read")),
    }
    needs
}

impl Needs {
    /// Notes that there may be others; the first reason is told.
    fn doubt(&mut self, why: String) {
        self.unread.get_or_insert(why);
    }
}
