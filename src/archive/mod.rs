//! Snapshots of team files, taken before Claude Code deletes the files.
//!
//! `objects/` has contents by hash. `runs/<run>/snapshots.jsonl` records the changes: one manifest per line, written
//! after its objects. `runs/<run>/contents/` has the changed bytes of large contents. `runs/<run>/run.json` describes
//! the run. `open/` and `closed/` have an index of each team, so that an unchanged file costs only a `stat` call.

mod capture;
mod claims;
mod contents;
mod ending;
mod index;
mod inspect;
mod large;
mod look;
mod maintenance;
mod notes;
mod object;
mod pack;
mod rebuild;
mod removal;
mod run;
mod scan;
mod snapshot;
mod state;
mod store;
mod transcripts;

pub use capture::{Call, Captured, Limit, Loss};
pub use claims::Claims;
pub use contents::Contents;
pub use index::{Index, Seat, Seen};
pub use inspect::Stored;
pub use maintenance::{Maintenance, Staging};
pub use object::{Care, Objects, Reading};
pub use run::{EndedBy, Imported, RunRecord, SessionRecord, SessionRole};
pub use snapshot::{Change, Snapshot};
pub use state::{FileState, Held, Journal, apply};
pub use store::{Archive, Subject};
pub use transcripts::Kept;
