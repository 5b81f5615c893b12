//! The event logs: one JSON line a hook call, in the log of its run, or of its session as long as that has no run.
//!
//! Each line commits to the one before it in its log: see [`crate::chain`].

mod event_log;
mod follow;
mod head;
mod lines;
mod logs;
mod reader;
mod seal;
mod segments;
mod tail;
mod writer;

pub use event_log::{EventLog, LogOwner};
pub use follow::{Follower, last, tail};
pub use lines::{Lines, MAX_LINE_BYTES, Position, Raw, ReadError, ReadErrors};
pub use logs::{Logs, NO_SESSION};
pub use reader::{CUT_OFF, Line, LineError, Parsed, Reader, VERSION, parse, parse_record, read_parallel};
pub use seal::{Link, Mark, Sealed};
pub use segments::{Range, Segment, SegmentName};
pub use writer::{Appended, Appending, LogEnd};
