//! Snapshots of team files, taken before Claude Code deletes the files.
//!
//! `objects/` has contents by hash. `runs/<run>/snapshots.jsonl` records the changes: one manifest per line, written
//! after its objects. `runs/<run>/contents/` has the changed bytes of large contents. `runs/<run>/run.json` describes
//! the run. `open/` and `closed/` have an index of each team, so that an unchanged file costs only a `stat` call.

mod capture;
mod config_dir;
mod directory;
mod index;
mod journal;
mod journal_points;
mod maintenance;
mod object;
mod pack;
mod run;
mod run_lock;
mod scan;
mod session;
mod store_files;
mod transcripts;
mod write;

pub use capture::Captured;
pub use config_dir::ConfigDir;
pub use directory::{Archive, LastRun};
pub use index::{CapturedFile, Index, RosterEntry};
pub use journal::{Change, FileState, FileTree, Journal, Snapshot, apply, work_path, worktree_of};
pub use journal_points::{JournalPoint, JournalPoints};
pub use maintenance::{ExclusiveArchive, Staging};
pub use object::{Contents, Durability, ObjectError, ObjectInfo, Objects, VerifyingReader};
pub use run::{CaptureScope, Claims, EndedBy, Imported, RunRecord, SessionRecord, SessionRole};
pub use session::CaptureRequest;
pub use transcripts::{Interval, StoredTranscript, TranscriptNote, agent_of, is_agent_transcript};
