//! The event logs: one JSON line a hook call, in the log of its run, or of its session as long as that has no run.
//!
//! Each line commits to the one before it in its log: see [`crate::chain`].

mod lines;
mod logs;
mod seal;
mod segments;
mod writer;

pub use lines::{CUT_OFF, Line, LineError, Lines, Parsed, Position, Raw, VERSION, parse, parse_record, tail};
pub use logs::{EventLog, LogOwner, Logs, NO_SESSION};
pub use seal::{Link, MAX_MARK_BYTES, Mark, Sealed};
pub use segments::{Segment, SegmentName};
pub use writer::{Appended, Appending};
