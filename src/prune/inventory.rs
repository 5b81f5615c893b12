//! All recorded data, and the contents that each run needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::Serialize;

use super::MIN_AGE;
use crate::timeline::{RunCatalog, is_client_gone, open_index};
use crate::verify::{Scope, Verifier};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::{Archive, ObjectInfo, Objects, RunRecord};
use teamkeep_core::store::log::{self, Contents, SegmentName};
use teamkeep_core::store::retention;
use teamkeep_core::store::shipping::UnshippedSegments;
use teamkeep_core::sys::clock::{self, Timestamp};
use teamkeep_core::sys::fs::Stamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It has ended and can be deleted.
    Over,
    /// Its Claude Code process may be running.
    Alive,
    /// It has ended, but its transcripts are not stored yet.
    Unfinished,
    /// Parts of it cannot be read.
    Damaged,
}

#[derive(Debug, Clone)]
pub struct RunInventory {
    pub run: RunRecord,
    pub state: RunState,
    /// When it ended or was imported.
    pub since: Option<Timestamp>,
    /// The bytes of its own files.
    pub bytes: u64,
    /// The uncompressed bytes of its journals, from before they were read.
    pub journal: u64,
    /// The contents that it needs, by index in [`Inventory::contents`].
    pub needs: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
pub struct StoredObject {
    /// Its files: plain, compressed, or both.
    pub files: Vec<ObjectInfo>,
    /// Whether something other than a run needs it, or may.
    pub pinned: bool,
}

impl StoredObject {
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

#[derive(Debug, Clone)]
pub struct Closed {
    pub segment: log::Segment,
    pub contents: Contents,
}

#[derive(Debug, Default)]
pub struct Inventory {
    /// The runs, oldest first.
    pub runs: Vec<RunInventory>,
    pub contents: Vec<StoredObject>,
    /// The closed segments of the log, oldest first.
    pub segments: Vec<Closed>,
    pub log: Vec<log::Segment>,
    pub current: Option<SegmentName>,
    /// The segments that are not shipped, if shipping is configured.
    pub unshipped: UnshippedSegments,
    /// Runs whose `run.json` cannot be read.
    pub damaged: Vec<String>,
    /// A run that names a missing content. Its hash may be damaged, so an unneeded content may be the one.
    pub missing: Option<String>,
    /// Why no content may be deleted, if so: an unreadable run may need it.
    pub obstacle: Option<String>,
}

pub fn survey(
    catalog: &RunCatalog,
    log: &Path,
    now: Timestamp,
    done: &mut dyn FnMut(u64),
) -> Result<Inventory> {
    let archive = &catalog.archive;
    if let Some(why) = &catalog.unlisted {
        return Err(Error::new(format!("cannot prune: {why}"))
            .hint("nothing was removed, because the list of runs is incomplete")
            .hint("restore the directory, then run: teamkeep verify"));
    }
    let mut survey = Inventory { damaged: catalog.damaged.clone(), ..Inventory::default() };
    let mut indexes: HashMap<String, usize> = HashMap::new();
    archive.objects.each(|stored| {
        let index = *indexes.entry(stored.hash.clone()).or_insert_with(|| {
            survey.contents.push(StoredObject::default());
            survey.contents.len() - 1
        });
        let young = stored.path.symlink_metadata().is_ok_and(|metadata| {
            Stamp::of(&metadata).modified.saturating_add(MIN_AGE.as_nanos() as i64) > clock::file_time()
        });
        let content = &mut survey.contents[index];
        content.pinned |= young;
        content.files.push(stored);
        Ok(())
    })?;
    let cached = archive.cached_objects();
    for run in &catalog.runs {
        let journal = archive.journal_size(&run.run);
        let needs = reachable_from(archive, run, &cached);
        if let Some(why) = needs.unread {
            survey.obstacle.get_or_insert(why);
        }
        // A hook call may have written it since the contents were listed.
        let is_missing = |hash: &String| !indexes.contains_key(hash) && !archive.objects.is_there(hash);
        if needs.hashes.iter().any(is_missing) {
            survey.missing.get_or_insert_with(|| run.run.clone());
        }
        let needs = needs.hashes.iter().chain(&needs.cached);
        let needs: BTreeSet<usize> = needs.filter_map(|hash| indexes.get(hash).copied()).collect();
        // A content that a run needs is not new.
        needs.iter().for_each(|index| survey.contents[*index].pinned = false);
        done(1);
        survey.runs.push(RunInventory {
            state: state(archive, run),
            since: since(archive, run),
            bytes: archive.run_size(&run.run),
            journal,
            needs: needs.into_iter().collect(),
            run: run.clone(),
        });
    }
    for run in &catalog.damaged {
        survey.obstacle.get_or_insert(format!("the data of run {run} cannot be read"));
    }
    // Caches of recorded runs are deleted with them; the others are kept.
    let own: BTreeSet<&str> = catalog.runs.iter().map(|run| run.run.as_str()).collect();
    for (run, hashes) in cached.iter().filter(|(run, _)| !own.contains(run.as_str())) {
        for index in hashes.iter().filter_map(|hash| indexes.get(hash)) {
            survey.contents[*index].pinned = true;
        }
        if archive.run_dir(run).is_none_or(|dir| dir.symlink_metadata().is_err()) {
            survey.obstacle.get_or_insert(format!("run {run} is missing, although a cache lists it"));
        }
    }
    survey.log = log::list(log)?;
    survey.current = log::active_segment(log);
    let closed = retention::closed(&survey.log, survey.current.as_ref(), now);
    let read = |segment: &log::Segment| Closed {
        contents: Contents::of(log, segment, done),
        segment: segment.clone(),
    };
    survey.segments = closed.into_iter().map(read).collect();
    Ok(survey)
}

fn state(archive: &Archive, run: &RunRecord) -> RunState {
    match () {
        () if archive.is_unfinished(&run.run) => RunState::Unfinished,
        () if run.ended_at.is_some() => RunState::Over,
        // An imported run gets no more events here, unless its session continues here.
        () if run.imported.is_some() && open_index(archive, run).is_none() => RunState::Over,
        () if is_client_gone(archive, run) => RunState::Over,
        () => RunState::Alive,
    }
}

/// When a run ended, or was imported.
fn since(archive: &Archive, run: &RunRecord) -> Option<Timestamp> {
    let imported = run.imported.as_ref().map(|imported| imported.at);
    let last = || archive.journal(&run.run).snapshots.pop().map(|last| last.at);
    imported.or(run.ended_at).or_else(last).or(Some(run.started_at)).filter(|at| at.is_valid())
}

impl Inventory {
    /// Verifies these runs and marks those that cannot be read. Returns whether there are any.
    pub fn verify(&mut self, archive: &Archive, runs: &[usize], done: &mut dyn FnMut(u64)) -> Result<bool> {
        let mut any = false;
        // Without the log's lines: an unreadable line keeps its segment.
        let nowhere = Path::new("/nonexistent");
        for index in runs {
            let held = &mut self.runs[*index];
            let scope = Scope::Run(held.run.run.clone());
            let verifier =
                Verifier { archive, log: nowhere, sessions: nowhere, policy: nowhere, scope, against: &[] };
            let findings = verifier.run(done)?;
            if !findings.is_readable() {
                held.state = RunState::Damaged;
                any = true;
            }
        }
        Ok(any)
    }

    /// The bytes of the archive.
    pub fn bytes(&self) -> u64 {
        self.contents.iter().map(StoredObject::bytes).sum::<u64>()
            + self.runs.iter().map(|held| held.bytes).sum::<u64>()
    }
}

/// The contents that a run needs.
#[derive(Debug, Default)]
pub(super) struct Reachable {
    pub hashes: BTreeSet<String>,
    /// Those that its caches name: the journal lines that named them may be lost.
    pub cached: BTreeSet<String>,
    /// Why there may be others, if so.
    pub unread: Option<String>,
}

pub(super) fn reachable_from(
    archive: &Archive,
    run: &RunRecord,
    cached: &BTreeMap<String, BTreeSet<String>>,
) -> Reachable {
    let journal = archive.journal(&run.run);
    let changes = journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
    let mut needs = Reachable {
        hashes: changes.filter_map(|change| change.object.clone()).collect(),
        cached: cached.get(&run.run).cloned().unwrap_or_default(),
        unread: None,
    };
    let name = &run.run;
    if journal.damaged > 0 {
        needs.doubt(format!("the journal of run {name} cannot be read completely"));
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
