//! Snapshots of team files, taken before Claude Code deletes the files.
//!
//! `objects/` has contents by hash. `runs/<run>/snapshots.jsonl` records the changes: one manifest per line, written
//! after its objects. `runs/<run>/contents/` has the changed bytes of large contents. `runs/<run>/run.json` describes
//! the run. `open/` and `closed/` have an index of each team, so that an unchanged file costs only a `stat` call.

mod capture;
mod capture_session;
mod claims;
mod contents;
mod file_tree;
mod index;
mod large;
mod locked_subject;
mod maintenance;
mod object;
mod object_info;
mod pack;
mod pending_end;
mod rebuild_index;
mod remove_run;
mod run;
mod scan;
mod sidecar;
mod snapshot;
mod store;
mod transcripts;

pub use capture::{CaptureRequest, Captured};
pub use claims::Claims;
pub use contents::Contents;
pub use file_tree::{FileState, FileTree, Journal, apply};
pub use index::{CapturedFile, Index, RosterEntry};
pub use maintenance::{ExclusiveArchive, Staging};
pub use object::{Durability, ObjectError, Objects, VerifyingReader};
pub use object_info::ObjectInfo;
pub use run::{EndedBy, Imported, RunRecord, SessionRecord, SessionRole};
pub use snapshot::{Change, Snapshot};
pub use store::{Archive, CaptureScope};
pub use transcripts::StoredTranscript;
