//! Snapshots of team files, taken before Claude Code deletes the files.
//!
//! A run is a directory: `run.json` describes it, `contents.data` and `contents.jsonl` have the contents of its files, and
//! `snapshots.jsonl` the changes, one manifest a line, written after its contents. `open/` and `closed/` have an index of
//! each team, so that an unchanged file costs only a `stat` call.

mod capture;
mod capture_in_progress;
mod contents;
mod directory;
mod index;
mod journal;
mod journal_points;
mod maintenance;
mod run;
mod run_lock;
mod scan;
mod transcripts;
mod write;

pub use capture::Captured;
pub use capture_in_progress::CaptureRequest;
pub use contents::{ContentError, ContentWriter, CopiedFile, RunContents, hash, is_hash};
pub use directory::{Archive, LastRun, VerifyingReader};
pub use index::{CapturedFile, Index, RosterEntry};
pub use journal::{Change, FileState, FileTree, Journal, Snapshot, apply, work_path, worktree_of};
pub use journal_points::{JournalPoint, JournalPoints};
pub use maintenance::{ExclusiveArchive, Staging};
pub use run::{CaptureScope, ConfigDir, EndedBy, Imported, RunRecord, SessionRecord, SessionRole, is_run_id};
pub use transcripts::{
    Interval, StoredTranscript, TranscriptNote, agent_of, is_agent_transcript, put_transcript,
};
