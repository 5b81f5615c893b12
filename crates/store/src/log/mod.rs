//! The event logs: one JSON line a hook call, in the log of its run, or of its session as long as that has no run.
//!
//! Each line commits to the one before it in its log: see [`crate::chain`].

mod event_log;
mod head;
mod line;
mod lines;
mod logs;
mod seal;
mod segments;
mod tail;
mod writer;

pub use event_log::{EventLog, LogOwner};
pub use line::{CUT_OFF, Line, LineError, Parsed, VERSION, parse, parse_record, tail};
pub use lines::{Lines, MAX_LINE_BYTES, Position, Raw};
pub use logs::{Logs, NO_SESSION};
pub use seal::{Link, MAX_MARK_BYTES, Mark, Sealed};
pub use segments::{Segment, SegmentName};
pub use writer::{Appended, Appending, LogEnd};
