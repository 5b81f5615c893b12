//! A run as a single file for another machine: a compressed tar with the run's files, in which each content is a file of its own,
//! `objects/<hash>`.
//!
//! Import unpacks it into a staging directory, verifies it there as a run of a store, and moves it into the store.

mod export;
mod import;

pub use export::export;
pub use import::{ImportTarget, ImportedRun, import};

const RUN: &str = "run.json";
const SNAPSHOTS: &str = "snapshots.jsonl";
const EVENTS: &str = "events.jsonl";
const TRANSCRIPTS: &str = "transcripts.json";
const OBJECTS: &str = "objects";
