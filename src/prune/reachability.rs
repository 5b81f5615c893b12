//! The contents that a run needs, and whether all are known.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{Archive, Objects, RunRecord};

/// The contents that a run needs.
#[derive(Debug, Default)]
pub(super) struct Reachable {
    /// The hashes that it names.
    pub hashes: BTreeSet<String>,
    /// Those that its caches name: the journal lines that named them may be lost.
    pub cached: BTreeSet<String>,
    /// Why there may be others, if so.
    pub unread: Option<String>,
}

/// The contents that the caches of each run name.
pub(super) type Cached = BTreeMap<String, BTreeSet<String>>;

/// Finds the contents that a run needs.
pub(super) fn reachable_from(archive: &Archive, run: &RunRecord, cached: &Cached) -> Reachable {
    let journal = archive.journal(&run.run);
    let changes = journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
    let mut needs = Reachable {
        hashes: changes.filter_map(|change| change.object.clone()).collect(),
        cached: cached.get(&run.run).cloned().unwrap_or_default(),
        unread: None,
    };
    let name = &run.run;
    if journal.damaged > 0 {
        needs.unread = Some(format!("the journal of run {name} cannot be read completely"));
    }
    if journal.snapshots.is_empty() && run.has_journal() {
        needs.doubt(format!("run {name} has no journal"));
    }
    match archive.read_kept(name) {
        Ok(Some(kept)) => needs.hashes.extend(kept.into_values().map(|kept| kept.object)),
        Ok(None) if !run.has_transcripts() => {}
        Ok(None) => needs.doubt(format!("the transcripts.json of run {name} is missing")),
        Err(_) => needs.doubt(format!("the transcripts.json of run {name} cannot be read")),
    }
    if !needs.hashes.iter().all(|hash| Objects::is_hash(hash)) {
        needs.doubt(format!("run {name} contains an invalid object hash"));
    }
    needs
}

impl Reachable {
    /// Records that there may be others; the first reason is reported.
    fn doubt(&mut self, why: String) {
        self.unread.get_or_insert(why);
    }
}
