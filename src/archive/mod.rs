//! Every state of a team's files, kept before the client erases them.
//!
//! `objects/` holds contents by their hash; `runs/<run>/snapshots.jsonl` says what changed when, one small manifest
//! a line, written after its objects; `runs/<run>/contents/` holds the changed bytes of large contents;
//! `runs/<run>/run.json` says what the run is; `open/` and `closed/` remember what was last captured of each team, so that
//! an unchanged file costs a `stat` and nothing else.

mod capture;
mod claims;
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

pub use capture::{Call, Captured, Loss};
pub use claims::Claims;
pub use index::{Index, Seat, Seen};
pub use inspect::Stored;
pub use maintenance::{Maintenance, Staging};
pub use object::{Care, Objects, Reading};
pub use run::{EndedBy, Imported, RunRecord, SessionRecord, SessionRole};
pub use snapshot::{Change, Snapshot};
pub use state::{FileState, Held, Journal, apply};
pub use store::{Archive, Subject};
pub use transcripts::Kept;
