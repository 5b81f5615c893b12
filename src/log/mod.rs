//! The event log: one JSON line a call, in segments that are closed by day and by size and never renumbered.
//!
//! A segment is named by the instant at which it began, so that names sort as time does, and a range of time
//! can be read without opening the others. The lock file holds the name of the segment that is written to:
//! an append costs the same however many segments there are. When a segment is removed, its lines that recorded
//! runs need are kept with these runs, as [`Parts`].

mod contents;
mod current_name;
mod exclusive_lock;
mod follow;
mod lines;
mod parallel_filter;
mod parts;
mod range;
mod read_errors;
mod read_file;
mod reader;
mod segments;
mod tail;
mod writer;

pub use contents::Contents;
pub use exclusive_lock::{ExclusiveLog, active_segment};
pub use follow::{FollowPosition, Follower, last};
pub use lines::{Lines, Position, Raw};
pub use parallel_filter::{LineHeader, sift};
pub use parts::{Parts, part_name, parts_in};
pub use range::Range;
pub use read_errors::{ReadError, ReadErrors};
pub use read_file::read_lines;
pub use reader::{Line, LineError, Parsed, Reader, parse};
pub use segments::{Segment, SegmentName, list, size};
pub use tail::tail;
pub use writer::{Appended, Log};
