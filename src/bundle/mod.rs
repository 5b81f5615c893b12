//! A run as a single file for another machine: a compressed tar with the run's files, in which each content is a file of its own,
//! `objects/<hash>`.
//!
//! Import unpacks it into a staging directory, verifies it there as a run of a store, and moves it into the store.

mod export;
mod import;
mod redact_entries;

use std::collections::BTreeSet;

pub use export::export;
pub use import::{ImportTarget, ImportedRun, import};

use teamkeep_store::archive::RunRecord;

const RUN: &str = "run.json";
const SNAPSHOTS: &str = "snapshots.jsonl";
const EVENTS: &str = "events.jsonl";
const TRANSCRIPTS: &str = "transcripts.json";
const OBJECTS: &str = "objects";

/// The home directories of the run's users: Claude Code's directory is in one.
pub fn homes(run: &RunRecord) -> Vec<String> {
    let paths = run.sessions.iter().filter_map(|session| session.transcript.as_deref());
    let homes = paths.filter_map(|path| path.split_once("/.claude/").map(|(home, _)| home.to_owned()));
    homes.filter(|home| home.starts_with('/')).collect::<BTreeSet<String>>().into_iter().collect()
}
