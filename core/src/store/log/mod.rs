//! The event log: one JSON line a call, in segments that are closed by day and by size and never renumbered.
//!
//! A segment is named by the instant at which it began, so that names sort as time does, and a range of time
//! can be read without opening the others. The lock file holds the name of the segment that is written to:
//! an append costs the same however many segments there are. When a segment is removed, its lines that recorded
//! runs need are kept with these runs, as [`Parts`].
//!
//! Each line commits to the one before it: see [`crate::store::chain`].

mod changes;
mod closed;
mod contents;
mod follow;
mod lines;
mod lock_file;
mod reader;
mod seal;
mod segments;
mod tail;
mod writer;

pub use changes::{LinkedLines, LogChange, RemovedLines, changes_path};
pub use closed::closed_segments;
pub use contents::Contents;
pub use follow::{Follower, last, tail};
pub use lines::{Lines, Position, Raw, ReadError, ReadErrors};
pub use lock_file::{Head, head, stored_head};
pub use reader::{CUT_OFF, Line, LineError, LineHeader, Parsed, Reader, filter_parallel, parse, read_lines};
pub use seal::{Link, Mark, Sealed};
pub use segments::{Parts, Range, Segment, SegmentName, list, part_name, parts_in, size};
pub use writer::{Appended, ExclusiveLog, Log, active_segment};
